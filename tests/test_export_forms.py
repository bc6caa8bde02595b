"""Every form in which Nsight Compute exports a report is read alike: launches, values, units, words, rules.

A value may differ from the raw page's by no more than the two printed numbers were rounded, which is read from the cells themselves, at
the places that the metrics name. Whole files take two minutes: `WARPLORE_ALL_LAUNCHES=1 pytest tests/test_export_forms.py`; else a few
kernels stand for all.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from functools import cache, lru_cache

import pytest

from retriever.reports.profile import Metric, Profile, Report, RuleMessage
from retriever.reports.read import read_report
from retriever.reports.units import base_unit, is_unit
from tests.exports import REPORTS, export

RUN = "1"
KERNELS = (
    "tail_effect",
    "wgmma_serialized",
    "shared_bank_conflicts",
    "register_spill",
    "host_memory_write",
    "atomics_histogram",
    "good_stencil2d",
)
"""Where a form was once read amiss, or whose report has what few have: names with `__`, rules wrapped in mid-word, spills, PCIe."""
EVERY = tuple(sorted(path.parent.name for path in REPORTS.glob("*/manifest.json")))
SHOWN = EVERY if os.environ.get("WARPLORE_ALL_LAUNCHES") else tuple(name for name in KERNELS if name in EVERY)

FORMS = (
    *("raw-base.csv", "raw.txt", "details.csv", "details.txt", "details-base.csv", "details-base.txt", "details-names.csv"),
    *("details-label-names.txt", "details-all.csv", "details-all.txt", "summary.csv", "summary.txt"),
)
WITHOUT_NUMBER = ("raw.txt", "details.txt", "details-base.txt", "details-label-names.txt", "details-all.txt", "summary.csv", "summary.txt")
"""Forms that print no launch number."""
AS_MANY = {"raw-base.csv": 2217, "raw.txt": 2217, "details-all.csv": 700, "details-all.txt": 700}
"""Metrics of a launch at least, so that agreement is not one of a few; other forms print about 83."""
PRINTED_ONCE_MORE = 87
"""Labels of `--print-details all` that the raw page has nothing for: peaks of the rooflines, operations by tensor type."""


@cache
def report(kernel: str, form: str) -> Report:
    return read_report(export(kernel, form), form)


def launch(kernel: str, form: str) -> Profile:
    (profile,) = report(kernel, form).profiles
    return profile


@cache
def lines(kernel: str, form: str) -> tuple[str, ...]:
    return tuple(export(kernel, form).splitlines())


@lru_cache(maxsize=512)
def row(line: str) -> list[str]:
    return next(csv.reader([line]))


def printed(kernel: str, form: str, metric: Metric) -> tuple[str, float]:
    """The number as it stands in the report, and the factor of its unit."""
    line, column = map(int, metric.location.split(":"))
    rows = lines(kernel, form)
    if form.endswith(".txt"):
        before, number = rows[line - 1][: column - 1].split(), rows[line - 1][column - 1 :].split()[0]
        if form == "raw.txt" and line < len(rows) and len(rest := rows[line].split()) == 1 and rest[0].isdigit():
            number += rest[0]
        unit = next(word for word in reversed(before) if not word[0].isdigit())
        return number, base_unit(unit)[1] if is_unit(unit) else 1.0
    cells, head = row(rows[line - 1]), row(rows[0])
    unit = row(rows[1])[column - 1] if form.startswith("raw") else cells[head.index("Metric Unit")]
    return cells[column - 1], base_unit(unit)[1]


def rounding(number: str, factor: float) -> float:
    """Half of the last printed digit; nothing where no decimals are printed, since whole numbers are printed whole."""
    decimals = number.partition(" ")[0].partition(".")[2]
    return 0.5 * factor * 10.0 ** -len(decimals) if decimals else 0.0


def differences(kernel: str, form: str) -> Iterator[str]:
    here, raw = launch(kernel, form), launch(kernel, "raw.csv")
    for name, metric in here.metrics.items():
        if not metric.location.count(":") or name not in raw.metrics:
            continue
        expected = raw.metrics[name]
        slack = rounding(*printed(kernel, form, metric)) + rounding(*printed(kernel, "raw.csv", expected))
        if metric.value < 0 == expected.value:
            continue  # ncu prints a difference of two counters as -0.01 with one option and as 0 without
        if abs(metric.value - expected.value) > slack * 1.0001 + 1e-9 * abs(expected.value):
            yield f"{form} {kernel} {name}: {metric.value} instead of {expected.value}"
        if metric.unit != expected.unit:
            yield f"{form} {kernel} {name}: in {metric.unit!r} instead of {expected.unit!r}"


@pytest.mark.parametrize("form", FORMS)
def test_every_value_of_a_form_is_the_raw_pages_within_what_was_rounded(form: str) -> None:
    assert SHOWN
    for kernel in SHOWN:
        here = launch(kernel, form)
        stated = {rule.location for rule in here.rules}
        if not stated & {metric.location for metric in here.metrics.values()}:
            assert not list(differences(kernel, form))
        assert len(here.metrics) >= AS_MANY.get(form, 80)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_names_no_metric_that_the_raw_page_lacks(form: str) -> None:
    for kernel in SHOWN:
        raw = launch(kernel, "raw.csv")
        extra = [name for name in launch(kernel, form).metrics if name not in raw.metrics]
        assert len(extra) <= (PRINTED_ONCE_MORE if form.startswith("details-all") else 0)
        assert all("/" in name for name in extra)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_tells_the_same_launch(form: str) -> None:
    for kernel in SHOWN:
        here, raw = launch(kernel, form), launch(kernel, "raw.csv")
        for part in ("kernel", "signature", "grid", "block", "compute_capability", "process_id", "gpu_index", "workload", "invocations"):
            assert getattr(here, part) == getattr(raw, part), (form, kernel, part)
        assert here.launch_id == ("" if form in WITHOUT_NUMBER else raw.launch_id)


@pytest.mark.parametrize("form", FORMS)
def test_words_and_missing_values_are_those_of_the_raw_page(form: str) -> None:
    for kernel in SHOWN:
        here, raw = launch(kernel, form), launch(kernel, "raw.csv")
        assert {name: word for name, word in here.attributes.items() if raw.attributes.get(name) != word and "/" not in name} == {}
        assert not set(here.unavailable) & raw.metrics.keys()
        assert not set(raw.unavailable) & here.metrics.keys()


def said(rule: RuleMessage) -> tuple[str, str, float | None, str]:
    return rule.severity, " ".join(rule.text.split()), rule.estimated_speedup_pct, rule.speedup_scope


@pytest.mark.parametrize("form", [form for form in FORMS if form.startswith("details")])
def test_every_details_form_prints_the_same_rules(form: str) -> None:
    for kernel in SHOWN:
        rules, expected = (list(map(said, launch(kernel, which).rules)) for which in (form, "details.csv"))
        assert rules == expected and rules


def test_samples_of_the_source_page_add_up_to_the_counters_of_each_launch() -> None:
    blocks = {profile.kernel: profile for profile in read_report(REPORTS / "exports" / RUN / "source.csv.xz").profiles}
    raw = {profile.kernel: profile for profile in read_report(REPORTS / "exports" / RUN / "raw.csv.xz").profiles}
    assert blocks.keys() == raw.keys()
    for kernel, profile in blocks.items():
        assert profile.lines and profile.sampled == sum(profile.metrics[name].value for name in profile.metrics if "_stalled_" in name)
        for name, metric in profile.metrics.items():
            assert raw[kernel].value(name) == metric.value, (kernel, name)

"""Properties of reading and diagnosing real reports under every damage: nothing crashes, no metric is made up, no other answer is given."""

from __future__ import annotations

import functools
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.corpus import load_corpus
from indexer.errors import InputError
from indexer.records import GuideRecord
from retriever.diagnosis import Diagnosis, diagnose
from retriever.lookup import lookup_of
from retriever.metric_expressions import metric_names, parse_expression
from retriever.reports.derive import with_derived
from retriever.reports.kernel_names import base_name
from retriever.reports.profile import Profile, Report
from retriever.reports.read import read_report
from retriever.reports.rule_sentences import STATEMENTS
from tests.exports import export
from tests.report_damage import DAMAGES, rescaled, sections_of, shuffled, spoken_by

ROOT = Path(__file__).parents[1]
REPORTS = ROOT / "kernel_wiki" / "reports"
SAMPLE = ("naive_transpose", "bandwidth_copy", "small_grid", "sgemm_register_tiled", "divergent_branches", "transpose_bank_conflict")
STATED = {name for statement in STATEMENTS for name, _, _ in statement.metrics}
"""Metrics that a rule's sentence gives with fewer digits than the table."""
ALSO = {"sm__cycles_elapsed.avg.per_second": "gpc__cycles_elapsed.avg.per_second"}
"""Metric to another with the same label: which one a row means is told by its section, whose line may be lost."""
KEPT_COLUMNS = 80  # of a raw page's 2,238: enough to meet every unit, few enough to be quick


@functools.cache
def console(name: str) -> str:
    return export(name, "details.txt")


@functools.cache
def whole(name: str) -> Profile:
    (profile,) = read_report(console(name)).profiles
    return profile


@functools.cache
def guides() -> tuple[GuideRecord, ...]:
    return tuple(record for record in load_corpus(ROOT).records.values() if isinstance(record, GuideRecord))


@functools.cache
def answer(name: str) -> Diagnosis:
    return diagnose(with_derived(whole(name)), guides())


def read(text: str) -> Report | None:
    """The report; None when it is refused."""
    try:
        return read_report(text if "\n" in text else text + "\n")
    except InputError as error:
        assert "\n" not in str(error)
        return None


def made_up(got: Profile, full: Profile) -> list[str]:
    """Metrics of `got` that `full` does not have, or not with that value."""

    def same(name: str, value: float, unit: str) -> bool:
        metric = full.metrics.get(name) or full.metrics.get(ALSO.get(name, ""))
        if metric is None or unit not in (metric.unit, ""):
            return False
        slack = max(0.06, 0.05 * abs(metric.value)) if name in STATED else 1e-9 * abs(metric.value)
        return abs(metric.value - value) <= slack

    def stated(name: str, value: float) -> bool:
        """NVIDIA's sentence and table may differ: on tma_copy it says 6.2 % occupancy where the table has 3.12."""
        return name in STATED and f"({value:g}%)" in console(base_name(full.kernel))

    return [
        f"{name} = {metric.value} {metric.unit}"
        for name, metric in got.metrics.items()
        if not same(name, metric.value, metric.unit) and not stated(name, metric.value)
    ]


def other_answer(got: Profile, name: str) -> list[str]:
    """Bottlenecks named beside those of the whole report, unless the answer says that it lacks what would rule them out.

    It does where one that is not named any more is undecided, or where something is, and the report lost a metric of the new one's own
    signature.
    """
    before = {bottleneck.id for bottleneck in answer(name).bottlenecks}
    after = diagnose(with_derived(got), guides())
    named = {bottleneck.id for bottleneck in after.bottlenecks}
    if (before - named) & {item.bottleneck for item in after.missing}:
        return []
    then, now = (lookup_of(with_derived(profile), None) for profile in (whole(name), got))
    lost = {id for id in named - before if any(then(metric) is not None and now(metric) is None for metric in _metrics_of(id))}
    partial = lost if after.missing else set()
    return sorted(named - before - partial - {"no-usable-data"})


def _metrics_of(bottleneck: str) -> set[str]:
    guide = next(guide for guide in guides() if guide.bottlenecks[:1] == (bottleneck,))
    conditions = [condition for signature in guide.signatures for condition in (*signature.all, *signature.any, *signature.none)]
    return {metric for condition in conditions for metric in metric_names(parse_expression(condition.metric))}


def check(text: str, name: str) -> None:
    report = read(text)
    for profile in report.profiles if report else ():
        assert made_up(profile, whole(name)) == []
        assert other_answer(profile, name) == []


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damage_that_leaves_every_word_loses_no_metric(kind: str) -> None:
    for name in SAMPLE[:3]:
        report = read_report(DAMAGES[kind](console(name)) + "\n")
        (profile,) = report.profiles
        full = whole(name)
        assert {key: (metric.value, metric.unit) for key, metric in profile.metrics.items()} == {
            key: (metric.value, metric.unit) for key, metric in full.metrics.items()
        }
        assert (profile.kernel, profile.grid, profile.block, profile.compute_capability) == (
            full.kernel,
            full.grid,
            full.block,
            full.compute_capability,
        )
        assert len(profile.rules) == len(full.rules)


reports = st.sampled_from(SAMPLE)
kinds = st.lists(st.sampled_from(sorted(DAMAGES)), min_size=0, max_size=2, unique=True)


@settings(max_examples=60, deadline=None)
@given(name=reports, kinds=kinds, share=st.floats(0, 1))
def test_a_cut_paste_makes_nothing_up(name: str, kinds: list[str], share: float) -> None:
    text = console(name)
    for kind in kinds:
        text = DAMAGES[kind](text)
    check(text[: int(share * len(text))], name)


@settings(max_examples=60, deadline=None)
@given(name=reports, kept=st.integers(1, 2**14 - 1), seed=st.integers(0, 999), kind=st.sampled_from(["", *sorted(DAMAGES)]))
def test_sections_in_any_order_and_number_give_no_other_answer(name: str, kept: int, seed: int, kind: str) -> None:
    head, parts = sections_of(shuffled(console(name), seed))
    text = head + "".join(part for at, part in enumerate(parts) if kept >> at & 1)
    check(DAMAGES[kind](text) if kind else text, name)


@settings(max_examples=40, deadline=None)
@given(name=reports, decimal=st.sampled_from(".,"), seed=st.integers(0, 999), kind=st.sampled_from(["", *sorted(DAMAGES)]))
def test_locale_and_scale_change_no_value(name: str, decimal: str, seed: int, kind: str) -> None:
    text = spoken_by(rescaled(console(name), seed), decimal)
    check(DAMAGES[kind](text) if kind else text, name)


@settings(max_examples=40, deadline=None)
@given(name=reports, first=st.floats(0, 1), second=st.floats(0, 1), kind=st.sampled_from(["", *sorted(DAMAGES)]))
def test_a_piece_out_of_the_middle_makes_nothing_up(name: str, first: float, second: float, kind: str) -> None:
    lines = console(name).splitlines(keepends=True)
    start, end = sorted((int(first * len(lines)), int(second * len(lines))))
    text = "".join(lines[start:end])
    check(DAMAGES[kind](text) if kind else text, name)


@settings(max_examples=30, deadline=None)
@given(name=reports, seed=st.integers(0, 10**6))
def test_lost_lines_make_nothing_up(name: str, seed: int) -> None:
    rng = random.Random(seed)
    share = rng.choice((0.02, 0.1, 0.4))
    check("".join(line for line in console(name).splitlines(keepends=True) if rng.random() > share), name)


@settings(max_examples=30, deadline=None)
@given(names=st.lists(reports, min_size=2, max_size=3, unique=True), kind=st.sampled_from(["", *sorted(DAMAGES)]))
def test_several_reports_in_one_paste_stay_apart(names: list[str], kind: str) -> None:
    text = "".join(console(name) for name in names)
    report = read_report((DAMAGES[kind](text) if kind else text) + "\n")
    assert [profile.kernel for profile in report.profiles] == [whole(name).kernel for name in names]
    for profile, name in zip(report.profiles, names):
        assert made_up(profile, whole(name)) == []


@settings(max_examples=150, deadline=None)
@given(name=reports, seed=st.integers(0, 10**9))
def test_mutated_text_never_crashes(name: str, seed: int) -> None:
    rng = random.Random(seed)
    text = list(console(name)[: rng.randint(500, 6000)])
    for _ in range(rng.randint(1, 60)):
        at = rng.randrange(len(text))
        text[at : at + rng.choice((0, 1, 1, 30))] = rng.choice(
            ("", "\n", " ", "|", ">", "&lt;", "\\n", "n/a", "9", ",", "(", "\x1b[", "Section: ", "OPT ", "\u00a0")
        )
    read("".join(text))


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=400))
def test_random_bytes_are_refused_in_one_line(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("bytes") / "report.txt"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_report(path)
    assert "\n" not in str(caught.value)


def narrow(text: str, seed: int) -> str:
    """A raw page with a few of its metric columns, in another order."""
    rows = [re.findall(r'"((?:[^"]|"")*)"', line) for line in text.splitlines() if line.startswith('"')]
    identity, metrics = list(range(11)), list(range(11, len(rows[0])))
    kept = identity + random.Random(seed).sample(metrics, KEPT_COLUMNS)
    return "".join(",".join(f'"{row[at]}"' for at in kept) + "\n" for row in rows)


@settings(max_examples=25, deadline=None)
@given(name=reports, seed=st.integers(0, 999), share=st.floats(0, 1))
def test_a_cut_raw_page_makes_nothing_up(name: str, seed: int, share: float) -> None:
    path = REPORTS / name / "raw.csv"
    text = narrow(path.read_text(encoding="utf-8"), seed)
    (full,) = read_report(text).profiles
    report = read(text[: int(share * len(text))])
    for profile in report.profiles if report else ():
        assert made_up(profile, full) == []


@settings(max_examples=25, deadline=None)
@given(name=reports, seed=st.integers(0, 999), share=st.floats(0, 1))
def test_a_cut_details_page_makes_nothing_up_and_gives_no_other_answer(name: str, seed: int, share: float) -> None:
    text = export(name, "details.csv")
    (full,) = read_report(text).profiles
    report = read(text[: int(share * len(text))])
    for profile in report.profiles if report else ():
        assert made_up(profile, full) == []
        assert other_answer(profile, name) == []

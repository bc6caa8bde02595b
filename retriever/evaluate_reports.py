"""How often the diagnosis says of a labelled report what its author planted, by export form.

The labels are `kernel_wiki/reports/*/label.yaml`, the reports `kernel_wiki/reports/exports`: every form of Nsight Compute output, with
the launches of all kernels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from indexer.errors import InputError
from indexer.records import GuideRecord
from retriever.diagnosis import WELL_OPTIMIZED, Diagnosis, diagnose
from retriever.labels import FOLDER, Label, load_labels, report_manifest
from retriever.reports.derive import with_derived
from retriever.reports.kernel_names import base_name
from retriever.reports.read import read_report

NOTHING = "(nothing)"
REFERENCE = "raw.csv"
"""The form that has every metric; the others are compared with it."""
NO_DIAGNOSIS = ("source.csv",)
"""Forms without the metrics of a launch."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the diagnosis said of one kernel in one form."""

    kernel: str
    form: str
    planted: str
    """The bottleneck that was planted first; `well-optimized` for a good kernel."""
    first: str
    """What the diagnosis names first: a fault, else, where one was planted, the roof; else `well-optimized` or `(nothing)`."""
    right: bool
    undecided: bool
    """The report lacks what it would take to name the planted bottleneck, and the answer says so: it is provisional for want of that
    one, or what it names may come from there."""
    faults: tuple[str, ...]
    """Everything named that is neither `well-optimized` nor the roof of such a kernel."""
    false_leads: tuple[str, ...]
    """Named although the label says never."""
    second_missed: tuple[str, ...]
    """Planted beside the first and not named."""
    blind: bool = False
    """Written by somebody who had read neither guides nor other labels."""


@dataclass(frozen=True)
class ReportEvaluation:
    """Every verdict."""

    verdicts: tuple[Verdict, ...]

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """Those that were read, the reference first."""
        return tuple(sorted({each.form for each in self.verdicts}, key=lambda form: (form != REFERENCE, form)))

    def of(self, form: str, blind: bool | None = None) -> tuple[Verdict, ...]:
        """By kernel; `blind`: only those written blind, or only the others."""
        return tuple(each for each in self.verdicts if each.form == form and blind in (None, each.blind))

    def confusion(self, form: str = REFERENCE) -> dict[tuple[str, str], int]:
        """(planted, named first) to the number of kernels."""
        return dict(sorted(Counter((each.planted, each.first) for each in self.of(form)).items()))

    def other_answers(self, form: str, blind: bool | None = None) -> tuple[Verdict, ...]:
        """Kernels for which the form names another bottleneck first than the reference does, instead of saying what it lacks."""
        reference = {each.kernel: each.first for each in self.of(REFERENCE)}
        return tuple(each for each in self.of(form, blind) if each.first != reference[each.kernel] and not each.undecided)


def evaluate_reports(root: Path, guides: Iterable[GuideRecord], forms: Iterable[str] = ()) -> ReportEvaluation:
    """Diagnose every labelled kernel in every form that was kept, or in `forms` only.

    Raises:
        InputError: no labelled report was found.
    """
    labels, guides = {name: label for name, label in load_labels(root).items() if label.planted is not None}, tuple(guides)
    wanted = set(forms)
    runs: dict[str, set[str]] = {}
    for name in labels:
        if (manifest := report_manifest(root, name)) and (run := manifest.get("exports")):
            runs.setdefault(run, set()).add(name)
    verdicts = [
        verdict
        for run, names in sorted(runs.items())
        for path in sorted((root / FOLDER / "exports" / run).glob("*.xz"))
        if path.stem not in NO_DIAGNOSIS and (not wanted or path.stem in wanted)
        for verdict in _of_form(path, names, labels, guides)
    ]
    if not verdicts:
        raise InputError(f"{root / FOLDER}: no labelled report; kernel_wiki/reports/keep_reports.py brings them")
    return ReportEvaluation(tuple(verdicts))


def _of_form(path: Path, names: set[str], labels: dict[str, Label], guides: tuple[GuideRecord, ...]) -> list[Verdict]:
    read = {base_name(profile.kernel): profile for profile in read_report(path).profiles}
    missing = sorted(names - read.keys())
    if missing:
        raise InputError(f"{path}: {len(missing)} kernels cannot be read, the first is {missing[0]}; make and keep their reports again")
    return [judge(name, path.stem, labels[name], diagnose(with_derived(read[name]), guides)) for name in sorted(names)]


def judge(kernel: str, form: str, label: Label, diagnosis: Diagnosis) -> Verdict:
    """A planted bottleneck must be named first; on a good kernel nothing may be named but `well-optimized` and its roofs."""
    faults = tuple(each.id for each in diagnosis.bottlenecks if each.id != WELL_OPTIMIZED and not each.is_roof)
    roofs = tuple(each.id for each in diagnosis.bottlenecks if each.is_roof)
    near = any(each.id == WELL_OPTIMIZED for each in diagnosis.bottlenecks)
    first = next(iter((*faults, *(() if label.is_good else roofs))), WELL_OPTIMIZED if near else NOTHING)
    planted = WELL_OPTIMIZED if label.is_good else label.planted[0]
    lacks = {each.bottleneck for each in diagnosis.missing}
    doubted = {cause for each in diagnosis.bottlenecks if each.id == first for cause in each.open_causes}
    return Verdict(
        kernel,
        form,
        planted,
        first,
        right=not faults if label.is_good else first == planted,
        undecided=planted in lacks | doubted,
        faults=faults,
        false_leads=tuple(id for id in label.never if id in faults),
        second_missed=tuple(id for id in label.planted[1:] if id not in faults),
        blind=label.blind,
    )


def report_evaluation_json(evaluation: ReportEvaluation) -> dict[str, Any]:
    """Figures by form, the confusion matrix, and every kernel that is not right."""
    return {
        "forms": [
            {
                "form": form,
                "blind": blind,
                "kernels": len(found),
                "right": sum(each.right for each in found),
                "undecided": sum(each.undecided and not each.right for each in found),
                "other_answers": [each.kernel for each in evaluation.other_answers(form, blind)],
            }
            for blind in (False, True)
            for form in evaluation.forms
            if (found := evaluation.of(form, blind))
        ],
        "confusion": [{"planted": planted, "named": named, "kernels": count} for (planted, named), count in evaluation.confusion().items()],
        "wrong": [
            {
                "kernel": each.kernel,
                "form": each.form,
                "blind": each.blind,
                "planted": each.planted,
                "named": [*each.faults] or [each.first],
            }
            for each in evaluation.verdicts
            if not each.right
        ],
    }

"""Guides' signatures executed on a profile: which bottlenecks it shows, on what evidence, and what it cannot decide.

Logic is three-valued. A condition holds, fails, or is unknown because a metric is missing; an unknown one never counts as
true, in `none` as little as in `all`. Conditions that fail settle a signature even where others are unknown, so a basic report
rules out much of what it cannot measure.

A guide may say which other bottlenecks its own explains. Where both show, the cause stands first although the symptom's number
is higher: a full L2 is what strided access looks like from below.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from indexer.errors import InputError
from indexer.gpus import Gpu
from retriever.metric_expressions import Node, evaluate, metric_names, parse_expression
from retriever.reports.profile import Profile
from retriever.rule_texts import metrics_in_rules
from retriever.stall_texts import stalls_in_rules

if TYPE_CHECKING:
    from indexer.records import Condition, GuideRecord, Signature

HEADLINES = (
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
)
"""Without either of them nothing says how busy the GPU was: the section SpeedOfLight, in every set."""

SECTIONS = (
    "SpeedOfLight",
    "LaunchStats",
    "Occupancy",
    "WorkloadDistribution",
    "ComputeWorkloadAnalysis",
    "MemoryWorkloadAnalysis",
    "MemoryWorkloadAnalysis_Tables",
    "SchedulerStats",
    "WarpStateStats",
    "InstructionStats",
    "SourceCounters",
)
"""Section identifiers of Nsight Compute 2025 that guides may ask for, in the order to print them."""

FULL_SET = ("PmSampling", "SchedulerStats", "WarpStateStats", "InstructionStats")
"""Sections that only `--set full` brings: with them all others were collected, though a details page does not print every one."""

CAUSE_SHARE = 1 / 3
"""A cause outranks a symptom when it has at least this share of the symptom's severity; a smaller one is a side issue. Our choice:
on our reports the causes that were built in have 0.4 or more of their symptoms' severity."""

RAW_PAGE = "--page raw --csv"
"""How ncu prints every metric that was collected, by its raw name."""

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """A condition that held, with the value that made it hold."""

    metric: str
    """Metric name or expression."""
    value: float
    unit: str
    op: str
    threshold: float
    source: str
    label: str = ""
    """The metric in a few words; empty where the guide gives none."""


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """A bottleneck that the report shows."""

    id: str
    """Vocabulary term."""
    severity: float
    """Share of the kernel's time at stake, 0 to 100; higher is worse."""
    guide: str
    """Id of the guide that explains it; empty when the corpus has none."""
    evidence: tuple[Evidence, ...]
    cures: tuple[str, ...] = ()
    """Techniques in the order to try."""
    because_of: str = ""
    """The bottleneck to look at first, whose guide says that it explains this one; empty where it stands for itself."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """A guide that this report can neither confirm nor rule out."""

    guide: str
    bottleneck: str
    metrics: tuple[str, ...]
    """Metrics that the report lacks."""
    unavailable: tuple[str, ...] = ()
    """Those among them that the profiler was asked for and could not give on this GPU; collecting again does not help."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What one profiled launch shows."""

    kernel: str
    bottlenecks: tuple[Bottleneck, ...]
    """Most severe first, then by id, except that a cause stands before the symptoms that its guide says it explains."""
    missing: tuple[Undecided, ...]
    """By guide id."""
    collect_next: str
    """Options for ncu that would decide the rest: `--section WarpStateStats --page raw --csv`; empty when nothing is open."""


@dataclass(frozen=True, slots=True)
class _Verdict:
    """`holds` is None when `missing` metrics keep it open."""

    holds: bool | None
    evidence: tuple[Evidence, ...] = ()
    missing: tuple[str, ...] = ()


def diagnose(profile: Profile, guides: Iterable[GuideRecord], gpu: Gpu | None = None) -> Diagnosis:
    """Every bottleneck of `guides` that `profile` shows, and what it would take to decide the others.

    Without a single readable headline throughput and with nothing found, the answer is the bottleneck `no-usable-data`.
    """
    lookup = _lookup(profile, gpu)
    found, open_guides = [], []
    ordered = sorted(guides, key=lambda guide: guide.id)
    for guide in ordered:
        verdict = _judge_guide(guide, profile, lookup)
        if verdict.holds:
            found.append(_bottleneck(guide, verdict, lookup))
        elif verdict.holds is None:
            open_guides.append((guide, verdict.missing))
    if not found and all(lookup(name) is None for name in HEADLINES):
        found = [_no_usable_data(ordered)]
    return Diagnosis(
        kernel=profile.kernel,
        bottlenecks=_causes_first(found, {_term(guide): guide.explains for guide in ordered}),
        missing=tuple(_undecided(guide, metrics, profile) for guide, metrics in open_guides),
        collect_next=_collect_next(open_guides, profile),
    )


def _lookup(profile: Profile, gpu: Gpu | None) -> Callable[[str], float | None]:
    """Metric values; where one is absent, what the kernel line, the GPU table or the words of a rule state in its place."""
    stated: dict[str, float | None] = {
        **stalls_in_rules(profile),
        **metrics_in_rules(profile),
        "launch__grid_size": math.prod(profile.grid) if profile.grid else None,
        "launch__block_size": math.prod(profile.block) if profile.block else None,
        "launch__sm_count": gpu.product.sms if gpu and gpu.product else None,
    }

    def value(name: str) -> float | None:
        measured = profile.value(name)
        return measured if measured is not None else stated.get(name)

    return value


def _judge_guide(guide: GuideRecord, profile: Profile, lookup: Callable[[str], float | None]) -> _Verdict:
    """The first signature that holds; else open when any is open; else false."""
    verdicts = [_judge_signature(signature, profile, lookup) for signature in guide.signatures]
    for verdict in verdicts:
        if verdict.holds:
            return verdict
    missing = {name for verdict in verdicts if verdict.holds is None for name in verdict.missing}
    return _Verdict(None if missing else False, missing=tuple(sorted(missing)))


def _judge_signature(signature: Signature, profile: Profile, lookup: Callable[[str], float | None]) -> _Verdict:
    needed = [_judge(condition, profile, lookup) for condition in signature.all]
    choices = [_judge(condition, profile, lookup) for condition in signature.any]
    rivals = [_judge(condition, profile, lookup) for condition in signature.none]
    no_choice = bool(choices) and all(verdict.holds is False for verdict in choices)
    if no_choice or any(verdict.holds is False for verdict in needed) or any(verdict.holds for verdict in rivals):
        return _Verdict(False)
    chosen = [verdict for verdict in choices if verdict.holds]
    waiting = [*needed, *rivals, *([] if chosen else choices)]
    missing = tuple(sorted({name for verdict in waiting for name in verdict.missing}))
    if missing:
        return _Verdict(None, missing=missing)
    return _Verdict(True, tuple(piece for verdict in (*needed, *chosen) for piece in verdict.evidence))


def _judge(condition: Condition, profile: Profile, lookup: Callable[[str], float | None]) -> _Verdict:
    reading = evaluate(parse_expression(condition.metric), lookup)
    if reading.value is None:
        return _Verdict(None, missing=reading.missing)
    holds = not math.isnan(reading.value) and _COMPARE[condition.op](reading.value, condition.value)
    metric = profile.metrics.get(condition.metric)
    unit = metric.unit if metric else condition.unit
    evidence = Evidence(condition.metric, reading.value, unit, condition.op, condition.value, condition.source, condition.label)
    return _Verdict(holds, (evidence,))


def _bottleneck(guide: GuideRecord, verdict: _Verdict, lookup: Callable[[str], float | None]) -> Bottleneck:
    reading = evaluate(parse_expression(guide.severity or "0"), lookup)
    known = reading.value is not None and not math.isnan(reading.value)
    severity = round(min(100.0, max(0.0, reading.value)), 1) if known else 0.0
    return Bottleneck(_term(guide), severity, guide.id, verdict.evidence, guide.cures)


def _causes_first(found: list[Bottleneck], explains: dict[str, tuple[str, ...]]) -> tuple[Bottleneck, ...]:
    """By severity, then id, with the causes of each bottleneck moved up to stand before it."""
    by_severity = sorted(found, key=lambda item: (-item.severity, item.id))
    placed: dict[str, Bottleneck] = {}
    entered = set()

    def place(symptom: Bottleneck) -> None:
        if symptom.id in entered:
            return
        entered.add(symptom.id)
        causes = [c for c in by_severity if symptom.id in explains.get(c.id, ()) and c.severity >= CAUSE_SHARE * symptom.severity]
        for cause in causes:
            place(cause)
        first = next((cause.id for cause in causes if cause.id in placed), "")
        placed[symptom.id] = replace(symptom, because_of=first)

    for bottleneck in by_severity:
        place(bottleneck)
    return tuple(placed.values())


def _no_usable_data(guides: list[GuideRecord]) -> Bottleneck:
    guide = next((guide.id for guide in guides if _term(guide) == "no-usable-data"), "")
    return Bottleneck("no-usable-data", 0.0, guide, ())


def _term(guide: GuideRecord) -> str:
    return guide.bottlenecks[0] if guide.bottlenecks else guide.id.rsplit("/", 1)[-1]


def _undecided(guide: GuideRecord, metrics: tuple[str, ...], profile: Profile) -> Undecided:
    return Undecided(guide.id, _term(guide), metrics, tuple(name for name in metrics if name in profile.unavailable))


def _collect_next(open_guides: list[tuple[GuideRecord, tuple[str, ...]]], profile: Profile) -> str:
    """Sections that the report lacks, and the raw page: the details page prints neither stalls nor pipes by name."""
    helped = [guide for guide, metrics in open_guides if not set(metrics) <= set(profile.unavailable)]
    wanted = {section for guide in helped for section in guide.sections}
    collected = SECTIONS if set(FULL_SET) <= set(profile.sections) else profile.sections
    absent = [f"--section {section}" for section in SECTIONS if section in wanted and section not in collected]
    return " ".join([*absent, RAW_PAGE]) if helped else ""


def expression_problems(guide: GuideRecord) -> list[str]:
    """What is wrong with a guide's signatures, each as one sentence; empty when the diagnosis can execute all of it.

    Beyond syntax: every name looks like a metric's, sections exist, and the severity can be computed from
    the metrics that any one signature requires, so that a bottleneck that is named always has one.
    """
    problems = [f"unknown section {name!r}; known are {', '.join(SECTIONS)}" for name in guide.sections if name not in SECTIONS]
    if guide.signatures and not guide.sections:
        problems.append("signatures without sections: say which ncu sections hold their metrics")
    conditions = [condition for signature in guide.signatures for condition in (*signature.all, *signature.any, *signature.none)]
    for text in [condition.metric for condition in conditions] + ([guide.severity] if guide.severity else []):
        problems += _name_problems(text)
    if problems or not guide.severity:
        return problems
    severity = parse_expression(guide.severity)
    for number, signature in enumerate(guide.signatures, start=1):
        read = frozenset(node for condition in signature.all for node in _read_for_certain(parse_expression(condition.metric)))
        if not _computable(severity, read):
            problems.append(f"severity needs metrics that signature {number} does not require in `all`; wrap alternatives in first()")
    return problems


def _name_problems(text: str) -> list[str]:
    try:
        names = metric_names(parse_expression(text))
    except InputError as error:
        return [str(error)]
    odd = [name for name in names if "__" not in name and not name.startswith("memory_")]
    return [f'"{name}" in "{text}" is not a metric name; they have a double underscore or start with memory_' for name in odd]


def _read_for_certain(node: Node) -> set[Node]:
    """The metrics, and the `first()` choices as a whole, that a readable expression proves to be there."""
    inner = set() if node.kind == "first" else {part for child in node.parts for part in _read_for_certain(child)}
    return inner | ({node} if node.kind in ("metric", "first") else set())


def _computable(node: Node, read: frozenset[Node]) -> bool:
    if node in read or node.kind == "number":
        return True
    inner = [_computable(part, read) for part in node.parts]
    return bool(inner) and (any(inner) if node.kind == "first" else all(inner))

"""Guides' signatures executed on a profile: which bottlenecks it shows, on what evidence, and what it cannot decide.

Logic is three-valued. A condition holds, fails, or is unknown because a metric is missing; an unknown one never counts as
true, in `none` as little as in `all`. Conditions that fail settle a signature even where others are unknown, so a basic report
rules out much of what it cannot measure.

A guide may say which other bottlenecks its own explains. Where both show, the cause stands first although the symptom's number
is higher: a full L2 is what strided access looks like from below.

A kernel that is near the limit and wastes nothing is first of all well optimized: the units at their limit are then its roof, and
stand behind as such. A fault that fills such a unit takes the name away.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from indexer.errors import InputError
from indexer.gpus import Gpu
from retriever.estimates import is_weak, takes_estimates
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

WORTH_NAMING = 5.0
"""Severity below which nothing is named: Nsight Compute's rule WorkloadImbalance asks for a gain of 5 % too. The answer that a kernel is
near its limit has the gain that is left as its severity, and is named whatever that is."""

WELL_OPTIMIZED = "well-optimized"
"""The bottleneck that is none."""

RAW_PAGE = "--page raw --csv"
"""How ncu prints every metric that was collected, by its raw name."""

WEAK_PREFIXES = ("ptxas__", "triton__", "timed__", "trace__", "computed__")
"""Quantities of inputs without counters: a signature that asks for one is heard only where the counters say nothing."""

COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
"""What each operator of a condition means."""


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
    """Most that curing it can save, as a share of the kernel's time, 0 to 100; higher is worse. Two of them are never added."""
    guide: str
    """Id of the guide that explains it; empty when the corpus has none."""
    evidence: tuple[Evidence, ...]
    cures: tuple[str, ...] = ()
    """Techniques in the order to try."""
    because_of: str = ""
    """The bottleneck to look at first, whose guide says that it explains this one; empty where it stands for itself."""
    bound: str = ""
    """What the severity estimates and what caps the gain; empty where the guide does not say."""
    limit: bool = False
    """Whether it names a unit at its limit."""
    open_causes: tuple[str, ...] = ()
    """Bottlenecks that would explain this one and that the report can neither confirm nor rule out, by id."""
    weak: bool = False
    """Whether it is told from resources and time, with no counter read."""

    @property
    def is_roof(self) -> bool:
        """Whether it is what a kernel without a fault ends at, and nothing to repair."""
        return self.because_of == WELL_OPTIMIZED


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
    """Most severe first, then by id, except that a cause stands before the symptoms that its guide says it explains, and that
    `well-optimized` and the roofs of such a kernel stand before everything."""
    missing: tuple[Undecided, ...]
    """By guide id."""
    collect_next: str
    """Options for ncu that would decide the rest: `--section WarpStateStats --page raw --csv`; empty when nothing is open."""

    @property
    def limits_first(self) -> tuple[Bottleneck, ...]:
        """The bottlenecks in the same order with `well-optimized` last: what stands in the way, whether a fault or a roof."""
        return tuple(sorted(self.bottlenecks, key=lambda bottleneck: bottleneck.id == WELL_OPTIMIZED))


@dataclass(frozen=True, slots=True)
class _Verdict:
    """`holds` is None when `missing` metrics keep it open."""

    holds: bool | None
    evidence: tuple[Evidence, ...] = ()
    missing: tuple[str, ...] = ()
    weak: bool = False


def diagnose(profile: Profile, guides: Iterable[GuideRecord], gpu: Gpu | None = None) -> Diagnosis:
    """Every bottleneck of `guides` that `profile` shows, and what it would take to decide the others.

    Without a single readable headline throughput and with nothing found, the answer is the bottleneck `no-usable-data`.
    """
    lookup = lookup_of(profile, gpu)
    found, open_guides = [], []
    ordered = sorted(guides, key=lambda guide: guide.id)
    for guide in ordered:
        verdict = _judge_guide(guide, profile, lookup)
        if verdict.holds:
            bottleneck = replace(_bottleneck(guide, verdict, lookup), weak=verdict.weak or is_weak(profile))
            if bottleneck.weak or bottleneck.severity >= WORTH_NAMING or bottleneck.id == WELL_OPTIMIZED:
                found.append(bottleneck)
        elif verdict.holds is None:
            open_guides.append((guide, verdict.missing))
    if not found and not is_weak(profile) and all(lookup(name) is None for name in HEADLINES):
        found = [_no_usable_data(ordered)]
    found = [replace(each, open_causes=_open_causes(each, open_guides, found)) for each in found]
    return Diagnosis(
        kernel=profile.kernel,
        bottlenecks=_roofs_apart(_causes_first(found, {_term(guide): guide.explains for guide in ordered})),
        missing=tuple(_undecided(guide, metrics, profile) for guide, metrics in open_guides),
        collect_next=_collect_next(open_guides, profile),
    )


def _major(profile: Profile, gpu: Gpu | None) -> float | None:
    """Major compute capability, by the report or else by the GPU that was named."""
    text = profile.compute_capability or (gpu.compute_capability if gpu else "")
    return float(text.partition(".")[0]) if text else None


def _open_causes(symptom: Bottleneck, open_guides: list[tuple[GuideRecord, tuple[str, ...]]], found: list[Bottleneck]) -> tuple[str, ...]:
    """Undecided guides that say they bring the symptom about, unless a cause of it was found."""
    causes = {_term(guide) for guide, _ in open_guides if symptom.id in guide.explains}
    return tuple(sorted(causes - {each.id for each in found}))


def lookup_of(profile: Profile, gpu: Gpu | None = None) -> Callable[[str], float | None]:
    """Metric values; where one is absent, what the kernel line, the GPU table or the words of a rule state in its place."""
    stated: dict[str, float | None] = {
        **stalls_in_rules(profile),
        **metrics_in_rules(profile),
        "launch__grid_size": math.prod(profile.grid) if profile.grid else None,
        "launch__block_size": math.prod(profile.block) if profile.block else None,
        "launch__sm_count": gpu.product.sms if gpu and gpu.product else None,
        "device__attribute_compute_capability_major": _major(profile, gpu),
    }

    def value(name: str) -> float | None:
        measured = profile.value(name)
        return measured if measured is not None else stated.get(name)

    return value


def _judge_guide(guide: GuideRecord, profile: Profile, lookup: Callable[[str], float | None]) -> _Verdict:
    """What the counters say; where they are open, or there are none at all, what resources and time say instead, if that holds."""
    counted = _judge_any([signature for signature in guide.signatures if not _without_counters(signature)], profile, lookup)
    denied = counted.holds is False and any(lookup(name) is not None for name in HEADLINES)
    if counted.holds or denied or not takes_estimates(profile):
        return counted
    weak = _judge_any([signature for signature in guide.signatures if _without_counters(signature)], profile, lookup)
    return replace(weak, weak=True) if weak.holds else counted


def _without_counters(signature: Signature) -> bool:
    return any(_is_weak_quantity(condition.metric) for condition in (*signature.all, *signature.any, *signature.none))


@lru_cache(maxsize=4096)
def _is_weak_quantity(expression: str) -> bool:
    return any(name.startswith(WEAK_PREFIXES) for name in metric_names(parse_expression(expression)))


def _judge_any(signatures: list[Signature], profile: Profile, lookup: Callable[[str], float | None]) -> _Verdict:
    """The first signature that holds; else open when any is open; else false."""
    verdicts = [_judge_signature(signature, profile, lookup) for signature in signatures]
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
    holds = not math.isnan(reading.value) and COMPARE[condition.op](reading.value, condition.value)
    metric = profile.metrics.get(condition.metric)
    unit = metric.unit if metric else condition.unit
    evidence = Evidence(condition.metric, reading.value, unit, condition.op, condition.value, condition.source, condition.label)
    return _Verdict(holds, (evidence,))


def _bottleneck(guide: GuideRecord, verdict: _Verdict, lookup: Callable[[str], float | None]) -> Bottleneck:
    reading = evaluate(parse_expression(guide.severity or "0"), lookup)
    known = reading.value is not None and not math.isnan(reading.value)
    severity = round(min(100.0, max(0.0, reading.value)), 1) if known else 0.0
    return Bottleneck(_term(guide), severity, guide.id, verdict.evidence, guide.cures, bound=guide.bound or "", limit=guide.limit)


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


def _roofs_apart(ordered: tuple[Bottleneck, ...]) -> tuple[Bottleneck, ...]:
    """`well-optimized` first and the units at their limit behind it as roofs; without it, where a fault fills one of those units."""
    near = [bottleneck for bottleneck in ordered if bottleneck.id == WELL_OPTIMIZED]
    others = [bottleneck for bottleneck in ordered if bottleneck.id != WELL_OPTIMIZED]
    limits = {bottleneck.id for bottleneck in others if bottleneck.limit}
    if not near or any(bottleneck.limit and bottleneck.because_of and bottleneck.because_of not in limits for bottleneck in others):
        return tuple(others)
    roofs = [replace(bottleneck, because_of=WELL_OPTIMIZED) for bottleneck in others if bottleneck.limit]
    return (*near, *roofs, *(bottleneck for bottleneck in others if not bottleneck.limit))


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
    if guide.severity and not guide.bound:
        problems.append("severity without bound: say in one sentence what it estimates and what caps the gain")
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

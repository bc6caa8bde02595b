"""Which bottlenecks a profile shows, on what evidence, in which order to look at them, and what it cannot decide.

A guide may say which other bottlenecks its own explains. Where both show, the cause stands first although the symptom's number
is higher: a full L2 is what strided access looks like from below.

A kernel that is near the limit and wastes nothing is first of all well optimized: the units at their limit are then its roof, and
stand behind as such. A fault that fills such a unit takes the name away.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING

from indexer.gpus import Gpu
from retriever.inputs import gpu_note, reading_gpu
from retriever.lookup import lookup_of
from retriever.metric_expressions import Lookup, evaluate, parse_expression
from retriever.open_causes import open_causes
from retriever.pointers import pointing, specific_metrics
from retriever.reports.profile import Profile
from retriever.reports.weak_form import is_weak
from retriever.signatures import HEADLINES, Evidence, Verdict, judge

if TYPE_CHECKING:
    from indexer.records import GuideRecord

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

NO_USABLE_DATA = "no-usable-data"
"""The answer where no headline can be read and nothing was found; it has no severity."""

UNITS = {
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "compute throughput",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "memory throughput",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "DRAM throughput",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": "L2 throughput",
    "l1tex__throughput.avg.pct_of_peak_sustained_active": "L1/TEX throughput",
}
"""What says how busy a unit was; the later one of two with the same value is the closer name."""

RAW_PAGE = "--page raw --csv"
"""How ncu prints every metric that was collected, by its raw name."""


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
    """Bottlenecks that would explain this one and that the report can neither confirm nor rule out, the likeliest first."""
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
    evidence: tuple[Evidence, ...] = ()
    """In a report with no usable data, what points to it all the same."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What one profiled launch shows."""

    kernel: str
    bottlenecks: tuple[Bottleneck, ...]
    """Most severe first, then by id, except that a cause stands before the symptoms that its guide says it explains, and that
    `well-optimized` and the roofs of such a kernel stand before everything."""
    missing: tuple[Undecided, ...]
    """By guide id."""
    busiest: tuple[str, float] | None
    """Of the units whose use was read the one used most, in words, and its share of the peak in per cent."""
    collect_next: str
    """Options for ncu that would decide the rest: `--section WarpStateStats --page raw --csv`; empty when nothing is open."""
    gpu_note: str = ""
    """One line where the launch was made on another GPU than the one that was named, and something changes by it."""

    @property
    def is_provisional(self) -> bool:
        """Whether something is named while guides stay open that may name another first."""
        return bool(self.missing) and any(bottleneck.id != NO_USABLE_DATA for bottleneck in self.bottlenecks)

    @property
    def pointers(self) -> tuple[Undecided, ...]:
        """Undecided guides that a report with no usable data points to all the same."""
        return tuple(item for item in self.missing if item.evidence)

    @property
    def limits_first(self) -> tuple[Bottleneck, ...]:
        """The bottlenecks in the same order with `well-optimized` last: what stands in the way, whether a fault or a roof."""
        return tuple(sorted(self.bottlenecks, key=lambda bottleneck: bottleneck.id == WELL_OPTIMIZED))


Diagnosed = tuple[Profile, Diagnosis]
"""A launch and what it shows."""


def diagnose(profile: Profile, guides: Iterable[GuideRecord], gpu: Gpu | None = None, reported: Gpu | None = None) -> Diagnosis:
    """Every bottleneck of `guides` that `profile` shows, and what it would take to decide the others.

    Without a single readable headline throughput and with nothing found, the answer is the bottleneck `no-usable-data`.

    Args:
        gpu: the GPU that was named, or the one that the report names. Where it cannot have made the report, nothing is read by it.
        reported: the GPU table's entry for what the report says, where a GPU was named as well.
    """
    lookup = lookup_of(profile, reading_gpu(profile, gpu, reported))
    found, open_guides = [], []
    ordered = sorted(guides, key=lambda guide: guide.id)
    for guide in ordered:
        verdict = judge(guide, profile, lookup)
        if verdict.holds:
            bottleneck = replace(_bottleneck(guide, verdict, lookup), weak=verdict.weak or is_weak(profile))
            if bottleneck.weak or bottleneck.severity >= WORTH_NAMING or bottleneck.id == WELL_OPTIMIZED:
                found.append(bottleneck)
        elif verdict.holds is None:
            open_guides.append((guide, verdict.missing))
    blind = not found and not is_weak(profile) and all(lookup(name) is None for name in HEADLINES)
    if blind:
        found = [_no_usable_data(ordered)]
    specific = specific_metrics(ordered, lookup) if blind else frozenset()
    named = {each.id for each in found}
    undecided = {_term(guide): guide for guide, _ in open_guides if _term(guide) not in named}
    found = [replace(each, open_causes=open_causes(each.id, undecided, profile, lookup)) for each in found]
    return Diagnosis(
        kernel=profile.kernel,
        bottlenecks=_roofs_apart(_causes_first(found, {_term(guide): guide.explains for guide in ordered})),
        missing=tuple(
            replace(_undecided(guide, metrics, profile), evidence=pointing(guide, lookup, specific) if specific else ())
            for guide, metrics in open_guides
        ),
        busiest=_busiest(lookup),
        collect_next=_collect_next(open_guides, profile),
        gpu_note=gpu_note(profile, gpu, reported),
    )


def _busiest(lookup: Lookup) -> tuple[str, float] | None:
    read = [(label, value) for name, label in UNITS.items() if (value := lookup(name)) is not None and not math.isnan(value)]
    return max(reversed(read), key=itemgetter(1), default=None)


def _bottleneck(guide: GuideRecord, verdict: Verdict, lookup: Lookup) -> Bottleneck:
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
    guide = next((guide.id for guide in guides if _term(guide) == NO_USABLE_DATA), "")
    return Bottleneck(NO_USABLE_DATA, 0.0, guide, ())


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

"""Two reports of a kernel side by side: time, work, bottlenecks, metrics, what a cure should have moved, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from indexer.records import GuideRecord
from retriever.diagnosis import NO_USABLE_DATA, WELL_OPTIMIZED, Diagnosed, Diagnosis
from retriever.lookup import lookup_of
from retriever.metric_expressions import Lookup
from retriever.movements import Expectation, Movement, counters, expectations, movements
from retriever.operations import operations
from retriever.pairing import Pair, block_size, grid_size, pair_launches
from retriever.pointer_fates import PointerFate, pointer_fates
from retriever.quantities import quantity, ratio_text
from retriever.reports.profile import Profile

SAME_CLOCK = 0.01
"""SM frequencies within a hundredth are equal: the details page prints them with three digits."""
SAME_WORK = 0.02
"""Instructions, bytes and operations within a fiftieth are the same work: counters of different passes differ by less. Our choice."""

DURATION, CYCLES, CLOCK = "gpu__time_duration.sum", "gpc__cycles_elapsed.max", "gpc__cycles_elapsed.avg.per_second"


@dataclass(frozen=True, slots=True)
class Times:
    """How long the launch took on both sides; None where a report does not say."""

    before_ns: float | None
    after_ns: float | None
    cycles_before: float | None
    cycles_after: float | None
    clock_before_hz: float | None
    clock_after_hz: float | None

    @property
    def speedup(self) -> float | None:
        """Time before over time after; above 1 is faster."""
        return self.before_ns / self.after_ns if self.before_ns and self.after_ns else None

    @property
    def speedup_in_cycles(self) -> float | None:
        """The same in SM cycles, which a change of the SM clock does not touch (memory keeps its own clock)."""
        return self.cycles_before / self.cycles_after if self.cycles_before and self.cycles_after else None

    @property
    def equal_clocks(self) -> bool | None:
        """None where a report does not say its SM frequency."""
        if not self.clock_before_hz or not self.clock_after_hz:
            return None
        return abs(self.clock_after_hz / self.clock_before_hz - 1) <= SAME_CLOCK


@dataclass(frozen=True, slots=True)
class Fate:
    """A bottleneck on both sides."""

    id: str
    outcome: str
    """`went`, `stayed`, `came` or `undecided`: shown in one report, and the other lacks the metrics to tell."""
    before: float | None
    """Severity before; None where it did not show."""
    after: float | None
    roof: bool
    """Whether it is a unit at its limit in a kernel that is well optimized, or that verdict itself."""


@dataclass(frozen=True, slots=True)
class Step:
    """What to do next."""

    bottleneck: str
    text: str
    cures: tuple[str, ...]
    """In the order to try."""


@dataclass(frozen=True, slots=True)
class LaunchComparison:
    """One launch before and after."""

    before: Profile
    after: Profile
    how: str
    times: Times
    fates: tuple[Fate, ...]
    """Those that stayed, came, are there and may have been before, went, and may have gone, each by severity."""
    pointers: tuple[PointerFate, ...]
    """Where a report has no usable data: what its counters point to all the same."""
    movements: tuple[Movement, ...]
    expectations: tuple[Expectation, ...]
    """Of the faults: nobody cures a roof, of either side."""
    next: Step | None
    notes: tuple[str, ...]
    """Different GPUs, different work, and data that one side lacks."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two reports."""

    launches: tuple[LaunchComparison, ...]
    only_before: tuple[Profile, ...]
    only_after: tuple[Profile, ...]


def compare(before: tuple[Diagnosed, ...], after: tuple[Diagnosed, ...], guides: Iterable[GuideRecord]) -> Comparison:
    """The launches of two diagnosed reports, paired and compared."""
    pairing = pair_launches(before, after)
    by_id = {guide.id: guide for guide in guides}
    return Comparison(tuple(_compare(pair, by_id) for pair in pairing.pairs), pairing.only_before, pairing.only_after)


def _compare(pair: Pair, guides: dict[str, GuideRecord]) -> LaunchComparison:
    (old, first), (new, second) = pair.before, pair.after
    left, right = lookup_of(old), lookup_of(new)
    shown = (*first.limits_first, *(b for b in second.limits_first if b.id not in {b.id for b in first.bottlenecks}))
    fates = _fates(first, second)
    roofs = {fate.id for fate in fates if fate.roof} | {bottleneck.id for bottleneck in first.bottlenecks if bottleneck.is_roof}
    expected = [
        expectation
        for bottleneck in first.bottlenecks
        if bottleneck.id not in roofs and bottleneck.guide in guides
        for expectation in expectations(guides[bottleneck.guide], bottleneck, left, right)
    ]
    return LaunchComparison(
        old,
        new,
        pair.how,
        _times(left, right),
        fates,
        pointer_fates(first, second, left, right),
        counters(old, new) if _is_blind(first) and _is_blind(second) else movements(left, right, shown),
        tuple(expected),
        _next(second),
        (
            *_unlike_named(first, second),
            *_other_gpu(old, new),
            *_other_launch(old, new),
            *_other_work(left, right),
            *_lacking(left, right, first, second),
        ),
    )


def _times(left: Lookup, right: Lookup) -> Times:
    return Times(left(DURATION), right(DURATION), left(CYCLES), right(CYCLES), left(CLOCK), right(CLOCK))


def _fates(first: Diagnosis, second: Diagnosis) -> tuple[Fate, ...]:
    old, new = ({b.id: b for b in diagnosis.bottlenecks} for diagnosis in (first, second))
    open_before, open_now = ({item.bottleneck for item in diagnosis.missing} for diagnosis in (first, second))
    fates = []
    for id in dict.fromkeys(id for id in (*new, *old) if id != NO_USABLE_DATA):
        was, now = old.get(id), new.get(id)
        outcome = "stayed" if was and now else "undecided" if id in (open_before if now else open_now) else "came" if now else "went"
        best = now or was
        roof = best is not None and (best.is_roof or id == WELL_OPTIMIZED)
        fates.append(Fate(id, outcome, was.severity if was else None, now.severity if now else None, roof))
    return tuple(sorted(fates, key=lambda fate: (_place(fate), -(fate.after or fate.before or 0), fate.id)))


def _place(fate: Fate) -> int:
    """What is there now stands before what is not."""
    there = ("stayed", "came", "undecided")
    return there.index(fate.outcome) if fate.after is not None else len(there) + (fate.outcome == "undecided")


def _is_blind(diagnosis: Diagnosis) -> bool:
    return any(bottleneck.id == NO_USABLE_DATA for bottleneck in diagnosis.bottlenecks)


def _next(second: Diagnosis) -> Step | None:
    if not second.bottlenecks:
        return None
    first = second.bottlenecks[0]
    if first.id == WELL_OPTIMIZED:
        roofs = ", ".join(b.id for b in second.bottlenecks if b.is_roof) or "its busiest unit"
        return Step(first.id, f"near the limit of {roofs}: stop at the kernel, and look above it", first.cures)
    if first.id == NO_USABLE_DATA:
        return Step(first.id, f"the second report says no unit's share of its peak; collect: ncu {second.collect_next}", first.cures)
    return Step(first.id, f"at most {first.severity:.0f} % of the time" if first.severity else "what it costs is not known", first.cures)


def _unlike_named(first: Diagnosis, second: Diagnosis) -> tuple[str, ...]:
    """What is to say of the reports' GPU beside the one that was named, once where it is the same."""
    return tuple(dict.fromkeys(diagnosis.gpu_note for diagnosis in (first, second) if diagnosis.gpu_note))


def _other_gpu(old: Profile, new: Profile) -> list[str]:
    places = [(p.device or "", p.compute_capability or "") for p in (old, new)]
    if places[0] == places[1] or not all(any(place) for place in places):
        return []
    if places[0][1] == places[1][1] and not (places[0][0] and places[1][0]):
        return []
    names = [name or f"compute capability {cc}" for name, cc in places]
    return [f"different GPUs: {names[0]}, then {names[1]}; times and shares of a peak are not of the same machine"]


def _other_launch(old: Profile, new: Profile) -> list[str]:
    shapes = {"grid": (old.grid, new.grid), "block": (old.block, new.block)}
    sizes = {"grid": (grid_size(old), grid_size(new)), "block": (block_size(old), block_size(new))}
    known = [(name, *pair) if all(pair) else (f"{name} size", *sizes[name]) for name, pair in shapes.items()]
    differing = [f"{name} {was}, then {now}" for name, was, now in known if was and now and was != now]
    return [f"launch differs: {'; '.join(differing)}"] if differing else []


def _other_work(left: Lookup, right: Lookup) -> list[str]:
    notes = []
    for label, unit, read in (
        ("instructions", "inst", lambda lookup: lookup("smsp__inst_executed.sum")),
        ("bytes moved by DRAM", "byte", lambda lookup: lookup("dram__bytes.sum")),
        ("floating-point operations", "flop", operations),
    ):
        was, now = read(left), read(right)
        if was is not None and now is not None and abs(now - was) > SAME_WORK * max(was, now):
            rate = _rates(was, now, left(DURATION), right(DURATION)) if unit == "flop" else ""
            notes.append(f"different work: {label} {quantity(was, unit)}, then {quantity(now, unit)} ({ratio_text(was, now)}){rate}")
    return notes


def _rates(was: float, now: float, before_ns: float | None, after_ns: float | None) -> str:
    """Operations a second on both sides: what remains comparable when the problem is another one."""
    if not before_ns or not after_ns or not was or not now:
        return "; another algorithm, or another problem?"
    rates = [quantity(count / time * 1e9, "flop/s") for count, time in ((was, before_ns), (now, after_ns))]
    return f", {rates[0]}, then {rates[1]}; another algorithm, or another problem?"


def _lacking(left: Lookup, right: Lookup, first: Diagnosis, second: Diagnosis) -> list[str]:
    notes = []
    for side, lookup, diagnosis, other in (("first", left, first, second), ("second", right, second, first)):
        if lookup(DURATION) is None:
            notes.append(f"the {side} report has no duration")
        open_there = {item.bottleneck for item in other.missing}
        if open_here := [item.bottleneck for item in diagnosis.missing if item.bottleneck not in open_there]:
            more = f"; collect: ncu {diagnosis.collect_next}" if diagnosis.collect_next else ""
            notes.append(f"the {side} report lacks what decides {', '.join(open_here)}{more}")
    if both := sorted({item.bottleneck for item in first.missing} & {item.bottleneck for item in second.missing}):
        notes.append(f"neither report decides {', '.join(both)}")
    return notes

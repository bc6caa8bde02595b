"""Which metrics moved between two launches, and which a cure should have moved and did not.

A severity tells the direction: a condition of a bottleneck's signature is expected to move when leaving it lowers the severity.
That is found by a small step of each metric, so that guides need no second list of what cures change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from indexer.records import Condition, GuideRecord
from retriever.diagnosis import Bottleneck
from retriever.metric_expressions import Lookup, evaluate, metric_names, parse_expression
from retriever.relevant_metrics import LIMIT_WORK, RELEVANT, STALL_UNIT, Shown
from retriever.reports.derive import DERIVED
from retriever.reports.profile import Profile
from retriever.reports.stall_names import WARP_CYCLES
from retriever.signatures import COMPARE

NOISE_SHARE = 0.05
"""A change below a twentieth of the value is not shown. Our choice, until repeated launches are measured."""
NOISE_POINTS = 2.0
"""A change of fewer points of a percentage is not shown. Our choice."""
STEP = 0.01  # relative step of a metric by which the severity's direction is probed
MOST_OTHERS = 8  # metrics shown beside those that the guides name
MOST_COUNTERS = 24  # shown of two reports without a throughput, which are somebody's choice of a few
MOST_OCTAVES = 5.0  # what a count that came from nothing weighs


@dataclass(frozen=True, slots=True)
class Movement:
    """One metric on both sides."""

    label: str
    metric: str
    unit: str
    before: float | None
    """None where that report lacks it."""
    after: float | None
    guide: str = ""
    """First bottleneck whose guide names it; empty for the others."""
    also: tuple[str, ...] = ()
    """The other bottlenecks whose guides name it."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """A metric that curing a bottleneck moves, and what it did."""

    bottleneck: str
    label: str
    metric: str
    unit: str
    op: str
    """Empty for the work of a unit at its limit, which should become less."""
    threshold: float | None
    """The bottleneck shows while `value op threshold` holds."""
    before: float
    after: float | None
    outcome: str
    """`left` (the condition no longer holds), `moved` (nearer to it), `unmoved`, `worse` or `unknown`."""


def is_noise(before: float, after: float, unit: str) -> bool:
    """Whether two values are the same for any purpose."""
    if before == after:
        return True
    if unit == "%" and abs(after - before) < NOISE_POINTS:
        return True
    return abs(after - before) < NOISE_SHARE * max(abs(before), abs(after))


def movements(before: Lookup, after: Lookup, shown: Iterable[Bottleneck]) -> tuple[Movement, ...]:
    """Metrics that moved beyond noise: those of the guides in the order of `shown`, then the largest of RELEVANT."""
    of_guides = _of_guides(before, after, shown)
    labels = {move.label for move in of_guides} | {move.metric for move in of_guides}
    others = [_movement(s.label, s.metric, s.unit, before, after) for s in RELEVANT if not labels & {s.label, s.metric}]
    warp_cycles = max(before(WARP_CYCLES) or 0.0, after(WARP_CYCLES) or 0.0)
    sized = [(_size(move, warp_cycles), move) for move in others if _both(move) and not _quiet(move)]
    loud = sorted((pair for pair in sized if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].metric))
    return (*(move for move in of_guides if not _both(move) or not _quiet(move)), *(move for _, move in loud[:MOST_OTHERS]))


def counters(before: Profile, after: Profile) -> tuple[Movement, ...]:
    """The metrics of both reports that moved, by their raw names, the largest ratio first."""
    names = [
        name for name, m in before.metrics.items() if name in after.metrics and m.location != DERIVED and not name.startswith("device__")
    ]
    moves = [Movement(n, n, before.metrics[n].unit, before.value(n), after.value(n)) for n in names]
    loud = [move for move in moves if _both(move) and not _quiet(move)]
    return tuple(sorted(loud, key=lambda move: (-_octaves(move), move.metric))[:MOST_COUNTERS])


def _of_guides(before: Lookup, after: Lookup, shown: Iterable[Bottleneck]) -> list[Movement]:
    """What the guides name, once: two expressions of one label and equal values are one metric."""
    rows: list[Movement] = []
    for bottleneck in shown:
        for piece in bottleneck.evidence:
            move = _movement(piece.label or piece.metric, piece.metric, piece.unit, before, after, bottleneck.id)
            place = next((i for i, row in enumerate(rows) if _same(row, move)), None)
            if place is None:
                rows.append(move)
            elif bottleneck.id not in (rows[place].guide, *rows[place].also):
                rows[place] = replace(rows[place], also=(*rows[place].also, bottleneck.id))
    return rows


def _same(row: Movement, move: Movement) -> bool:
    return row.metric == move.metric or (row.label, row.before, row.after) == (move.label, move.before, move.after)


def _movement(label: str, metric: str, unit: str, before: Lookup, after: Lookup, guide: str = "") -> Movement:
    node = parse_expression(metric)
    return Movement(label, metric, unit, evaluate(node, before).value, evaluate(node, after).value, guide)


def _both(move: Movement) -> bool:
    return move.before is not None and move.after is not None and not math.isnan(move.before) and not math.isnan(move.after)


def _quiet(move: Movement) -> bool:
    return is_noise(float(move.before or 0), float(move.after or 0), move.unit)


def _size(move: Movement, warp_cycles: float) -> float:
    """How much a metric moved, on one scale: octaves of a count, tens of points of a percentage, a stall by its share of a warp's cycles.

    A stall that moved by less than NOISE_SHARE of those says nothing, whatever its ratio, and has size 0.
    """
    before, after = float(move.before or 0), float(move.after or 0)
    if move.unit == "%":
        return abs(after - before) / 10
    if move.unit == STALL_UNIT:
        share = abs(after - before) / warp_cycles if warp_cycles else 0.0
        return 10 * share if share >= NOISE_SHARE else 0.0
    return min(MOST_OCTAVES, _octaves(move))


def _octaves(move: Movement) -> float:
    """Doublings between the two values; infinite from or to zero."""
    low, high = sorted((abs(float(move.before or 0)), abs(float(move.after or 0))))
    return abs(math.log2(high / low)) if low else math.inf


def expectations(guide: GuideRecord, bottleneck: Bottleneck, before: Lookup, after: Lookup) -> tuple[Expectation, ...]:
    """What curing `bottleneck` should have moved: conditions that showed it before; for a unit at its limit the work it is given."""
    if bottleneck.limit:
        work = LIMIT_WORK.get(bottleneck.id)
        reading = evaluate(parse_expression(work.metric), before).value if work else None
        return (_work_done(bottleneck.id, work, reading, after),) if work and reading is not None else ()
    shown = {piece.metric for piece in bottleneck.evidence}
    conditions = {(c.metric, c.op): c for signature in guide.signatures for c in (*signature.all, *signature.any) if c.metric in shown}
    return tuple(_expectation(bottleneck.id, c, before, after) for c in conditions.values() if _cure_moves(c, guide, before))


def _work_done(id: str, work: Shown, before: float, after: Lookup) -> Expectation:
    now = evaluate(parse_expression(work.metric), after).value
    outcome = "unknown" if now is None else "unmoved" if is_noise(before, now, work.unit) else "moved" if now < before else "worse"
    return Expectation(id, work.label, work.metric, work.unit, "", None, before, now, outcome)


def _cure_moves(condition: Condition, guide: GuideRecord, lookup: Lookup) -> bool:
    """Whether leaving the condition lowers the severity. Throughputs are left out: they say how much is at stake, not what is wrong."""
    names = metric_names(parse_expression(condition.metric))
    if not names or all("throughput" in name for name in names) or not guide.severity:
        return False
    severity, own = parse_expression(guide.severity), parse_expression(condition.metric)
    shared = set(names) & set(metric_names(severity))
    down = condition.op in (">", ">=")
    for name in sorted(shared):

        def stepped(asked: str, name: str = name) -> float | None:
            value = lookup(asked)
            return value * (1 + STEP) if asked == name and value is not None else value

        here, there = evaluate(own, lookup).value, evaluate(own, stepped).value
        stake, stake_there = evaluate(severity, lookup).value, evaluate(severity, stepped).value
        if None in (here, there, stake, stake_there) or here == there or stake == stake_there:
            continue
        return ((there > here) == (stake_there > stake)) == down  # type: ignore[operator]
    return False


def _expectation(id: str, condition: Condition, before: Lookup, after: Lookup) -> Expectation:
    node = parse_expression(condition.metric)
    old, new = evaluate(node, before).value, evaluate(node, after).value
    was = math.nan if old is None else old
    return Expectation(
        id,
        condition.label or condition.metric,
        condition.metric,
        condition.unit,
        condition.op,
        condition.value,
        was,
        new,
        _outcome(condition, was, new),
    )


def _outcome(condition: Condition, before: float, after: float | None) -> str:
    if after is None or math.isnan(before):
        return "unknown"
    if math.isnan(after) or not COMPARE[condition.op](after, condition.value):
        return "left"
    if is_noise(before, after, condition.unit):
        return "unmoved"
    return "moved" if (after < before) == (condition.op in (">", ">=")) else "worse"

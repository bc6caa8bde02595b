"""What two reports without a throughput point to: which pointers stayed, went and came."""

from __future__ import annotations

from dataclasses import dataclass

from retriever.diagnosis import Diagnosis
from retriever.metric_expressions import Lookup, parse_expression
from retriever.pointers import at_least
from retriever.signatures import Evidence

ORDER = ("stayed", "came", "went", "undecided")


@dataclass(frozen=True, slots=True)
class PointerFate:
    """One condition that points to a bottleneck, on both sides."""

    bottleneck: str
    outcome: str
    """`stayed`, `came`, `went` or `undecided`: one of the reports lacks its counters."""
    label: str
    metric: str
    unit: str
    op: str
    threshold: float
    """It points while `value op threshold` holds."""
    before: float | None
    after: float | None


def pointer_fates(first: Diagnosis, second: Diagnosis, left: Lookup, right: Lookup) -> tuple[PointerFate, ...]:
    """Every condition that points somewhere in either report, those that stayed first; a bottleneck that the other names stayed."""
    old, new = _pieces(first), _pieces(second)
    named = [{bottleneck.id for bottleneck in diagnosis.bottlenecks} for diagnosis in (first, second)]
    fates = []
    for key, piece in {**old, **new}.items():
        expression = parse_expression(piece.metric)
        values = at_least(expression, left), at_least(expression, right)
        there = key in old or key[0] in named[0], key in new or key[0] in named[1]
        outcome = "stayed" if all(there) else "undecided" if None in values else "came" if there[1] else "went"
        label = piece.label or piece.metric
        fates.append(PointerFate(key[0], outcome, label, piece.metric, piece.unit, piece.op, piece.threshold, *values))
    return tuple(sorted(fates, key=lambda fate: (ORDER.index(fate.outcome), fate.bottleneck, fate.metric)))


def _pieces(diagnosis: Diagnosis) -> dict[tuple[str, str], Evidence]:
    """By bottleneck and metric."""
    return {(item.bottleneck, piece.metric): piece for item in diagnosis.pointers for piece in item.evidence}

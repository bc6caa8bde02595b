"""What a few counters without any throughput point to: conditions of undecided guides that hold as far as they can be read.

A paste of some `--metrics` has no headline, so that nothing can be said of the kernel's time; what it shows all the same is worth saying.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from retriever.metric_expressions import Lookup, Node, evaluate, metric_names, parse_expression
from retriever.signatures import COMPARE, Evidence

if TYPE_CHECKING:
    from indexer.records import GuideRecord

ASKED_BY = 3
"""A condition points to its guide only by a metric that no more guides than this ask for: gates that every second one has point nowhere."""
GIVEN = ("device__", "launch__")
"""Metrics that describe the GPU and the launch: they were not measured."""


def specific_metrics(guides: Iterable[GuideRecord], lookup: Lookup) -> frozenset[str]:
    """Metrics of the report that at most ASKED_BY guides ask for."""
    asked = Counter(name for guide in guides for name in {name for expression in _expressions(guide) for name in _names(expression)})
    return frozenset(name for name, count in asked.items() if count <= ASKED_BY and lookup(name) is not None and not name.startswith(GIVEN))


def pointing(guide: GuideRecord, lookup: Lookup, specific: frozenset[str]) -> tuple[Evidence, ...]:
    """The conditions of `guide` of which the readable part exceeds the threshold already; the same condition once."""
    found = {}
    for condition in (condition for signature in guide.signatures for condition in signature.all):
        value = at_least(parse_expression(condition.metric), lookup) if specific.intersection(_names(condition.metric)) else None
        if value is not None and condition.op in (">", ">=") and COMPARE[condition.op](value, condition.value):
            evidence = Evidence(condition.metric, value, condition.unit, condition.op, condition.value, condition.source, condition.label)
            found.setdefault(condition.metric, evidence)
    return tuple(found.values())


def at_least(node: Node, lookup: Lookup) -> float | None:
    """What an expression is at least: the largest readable part of a `max`, and no constant in place of a metric; None where nothing is."""
    if node.kind in ("max", "first"):
        values = [value for part in node.parts if metric_names(part) and (value := at_least(part, lookup)) is not None]
        return None if not values else max(values) if node.kind == "max" else values[0]
    if node.kind in ("*", "/") and not metric_names(node.parts[1]):  # a scale
        value = at_least(node.parts[0], lookup)
        return None if value is None else evaluate(Node(node.kind, parts=(Node("number", number=value), node.parts[1])), lookup).value
    return evaluate(node, lookup).value


def _expressions(guide: GuideRecord) -> set[str]:
    return {condition.metric for signature in guide.signatures for condition in signature.all}


@lru_cache(maxsize=4096)
def _names(expression: str) -> tuple[str, ...]:
    return metric_names(parse_expression(expression))

"""Guides' signatures executed on a profile.

Logic is three-valued. A condition holds, fails, or is unknown because a metric is missing; an unknown one never counts as
true, in `none` as little as in `all`. Conditions that fail settle a signature even where others are unknown, so a basic report
rules out much of what it cannot measure.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from retriever.metric_expressions import Lookup, evaluate, metric_names, parse_expression
from retriever.reports.profile import Profile
from retriever.reports.weak_form import takes_estimates

if TYPE_CHECKING:
    from indexer.records import Condition, GuideRecord, Signature

HEADLINES = (
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
)
"""Without either of them nothing says how busy the GPU was: the section SpeedOfLight, in every set."""

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
class Verdict:
    """What a guide, a signature or a condition says of a profile."""

    holds: bool | None
    """None when `missing` metrics keep it open."""
    evidence: tuple[Evidence, ...] = ()
    missing: tuple[str, ...] = ()
    weak: bool = False


def judge(guide: GuideRecord, profile: Profile, lookup: Lookup) -> Verdict:
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


def _judge_any(signatures: list[Signature], profile: Profile, lookup: Lookup) -> Verdict:
    """The first signature that holds; else open when any is open; else false."""
    verdicts = [_judge_signature(signature, profile, lookup) for signature in signatures]
    for verdict in verdicts:
        if verdict.holds:
            return verdict
    missing = {name for verdict in verdicts if verdict.holds is None for name in verdict.missing}
    return Verdict(None if missing else False, missing=tuple(sorted(missing)))


def _judge_signature(signature: Signature, profile: Profile, lookup: Lookup) -> Verdict:
    needed = [_judge_condition(condition, profile, lookup) for condition in signature.all]
    choices = [_judge_condition(condition, profile, lookup) for condition in signature.any]
    rivals = [_judge_condition(condition, profile, lookup) for condition in signature.none]
    no_choice = bool(choices) and all(verdict.holds is False for verdict in choices)
    if no_choice or any(verdict.holds is False for verdict in needed) or any(verdict.holds for verdict in rivals):
        return Verdict(False)
    chosen = [verdict for verdict in choices if verdict.holds]
    waiting = [*needed, *rivals, *([] if chosen else choices)]
    missing = tuple(sorted({name for verdict in waiting for name in verdict.missing}))
    if missing:
        return Verdict(None, missing=missing)
    return Verdict(True, tuple(piece for verdict in (*needed, *chosen) for piece in verdict.evidence))


def _judge_condition(condition: Condition, profile: Profile, lookup: Lookup) -> Verdict:
    reading = evaluate(parse_expression(condition.metric), lookup)
    if reading.value is None:
        return Verdict(None, missing=reading.missing)
    holds = not math.isnan(reading.value) and COMPARE[condition.op](reading.value, condition.value)
    metric = profile.metrics.get(condition.metric)
    unit = metric.unit if metric else condition.unit
    evidence = Evidence(condition.metric, reading.value, unit, condition.op, condition.value, condition.source, condition.label)
    return Verdict(holds, (evidence,))

"""What may lie behind a bottleneck where the report cannot say: undecided guides, the likeliest first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from retriever.metric_expressions import Lookup, evaluate, parse_expression
from retriever.reports.profile import Profile
from retriever.signatures import COMPARE, judge

if TYPE_CHECKING:
    from indexer.records import Condition, GuideRecord


def open_causes(symptom: str, undecided: Mapping[str, GuideRecord], profile: Profile, lookup: Lookup) -> tuple[str, ...]:
    """Those of the undecided bottlenecks whose guides say that they bring `symptom` about, the likeliest first.

    Likelier is what has more conditions fulfilled already; of equals, the guide that explains fewer symptoms and so is the nearer
    explanation; then the guides' own order, by id. The count and not the share of conditions, which would favour short signatures.
    """
    causes = {id: guide for id, guide in undecided.items() if symptom in guide.explains}
    ranks = {id: (-_fulfilled(guide, profile, lookup), len(guide.explains), id) for id, guide in causes.items()}
    return tuple(sorted(causes, key=lambda id: ranks[id]))


def _fulfilled(guide: GuideRecord, profile: Profile, lookup: Lookup) -> int:
    """Conditions that hold in the open signature that has most of them. `any` is one condition; rivals of `none` are no evidence."""
    counts = [0]
    for signature in guide.signatures:
        if judge(guide.model_copy(update={"signatures": (signature,)}), profile, lookup).holds is None:
            held = [_holds(condition, lookup) for condition in signature.all]
            counts.append(sum([*held, any(_holds(condition, lookup) for condition in signature.any)]))
    return max(counts)


def _holds(condition: Condition, lookup: Lookup) -> bool:
    """Whether it is fulfilled by what can be read."""
    value = evaluate(parse_expression(condition.metric), lookup).value
    return value is not None and not math.isnan(value) and COMPARE[condition.op](value, condition.value)

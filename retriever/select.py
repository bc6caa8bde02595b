"""Which hits a context pack is made of: a few of each kind, the guides of what the report shows first."""

from __future__ import annotations

from retriever.rank import Hit, Ranking
from retriever.situation import Situation

COUNTS = {"zoo": 3, "guide": 3, "attempt": 2, "technique": 3, "isa": 4, "hardware": 1, "pr": 4}
"""Most records of a kind in one pack; the budget decides how much of each is shown."""

_LEAST_SHARE = 0.45  # of the best hit of its kind; weaker ones only fill space


def select(ranking: Ranking, situation: Situation) -> dict[str, tuple[Hit, ...]]:
    """Hits by kind, best first.

    Implementations that run on the GPU come before those that must be adapted, and those of the kernel's family are the only ones
    when the family is known and the zoo has it. Attempts are of that family and measured, or there are none.
    """
    by_kind = {kind: [hit for hit in ranking.hits if hit.kind == kind] for kind in COUNTS}
    families = set(situation.words("families")[:2])
    if same := [hit for hit in by_kind["zoo"] if families & set(hit.record.get("families", ()))]:
        by_kind["zoo"] = same
    by_kind["zoo"].sort(key=lambda hit: hit.applicability.status == "adapt")  # stable: score order stays within both halves
    by_kind["attempt"] = [hit for hit in by_kind["attempt"] if _warns(hit, families)]
    order = {guide: place for place, guide in enumerate(_diagnosed_guides(situation))}
    by_kind["guide"].sort(key=lambda hit: order.get(hit.id, len(order)))
    if order:
        by_kind["guide"] = [hit for hit in by_kind["guide"] if hit.id in order] or by_kind["guide"]
    return {kind: tuple(_strong(hits)[: COUNTS[kind]]) for kind, hits in by_kind.items()}


def _warns(hit: Hit, families: set[str]) -> bool:
    """Whether an attempt spares the reader a try: of the same family, and measured."""
    return hit.evidence.level == "measured-slower" and bool(families & set(hit.record.get("families", ())))


def _diagnosed_guides(situation: Situation) -> list[str]:
    """In the order of the diagnosis, which puts causes before symptoms; of several kernels, the first bottlenecks before the second."""
    found = [(place, -b.severity, b.guide) for d in situation.diagnoses for place, b in enumerate(d.bottlenecks) if b.guide]
    return list(dict.fromkeys(guide for _, _, guide in sorted(found)))


def _strong(hits: list[Hit]) -> list[Hit]:
    """Without the hits that score far below the best of their kind."""
    best = max((hit.score for hit in hits), default=0.0)
    return [hit for hit in hits if hit.score >= _LEAST_SHARE * best]

"""Reciprocal-rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

K = 60  # the constant of the paper


def reciprocal_rank_fusion(rankings: Mapping[str, Sequence[str]], weights: Mapping[str, float]) -> dict[str, float]:
    """Fused score by id, 1.0 for an id that is first in every ranking; `rankings` hold ids best first."""
    best = sum(weights[name] for name in rankings) / (K + 1)
    fused: dict[str, float] = {}
    for name in sorted(rankings):
        for rank, id in enumerate(rankings[name], start=1):
            fused[id] = fused.get(id, 0.0) + weights[name] / (K + rank)
    return {id: score / best for id, score in fused.items()} if best else {}

"""The metric values of a launch, by name, for everything that computes with them."""

from __future__ import annotations

import math

from indexer.gpus import Gpu
from retriever.metric_expressions import Lookup
from retriever.reports.profile import Profile
from retriever.rule_texts import metrics_in_rules


def lookup_of(profile: Profile, gpu: Gpu | None = None) -> Lookup:
    """Metric values; where one is absent, what the kernel line, the GPU table or the words of a rule state in its place."""
    stated: dict[str, float | None] = {
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


def _major(profile: Profile, gpu: Gpu | None) -> float | None:
    """Major compute capability, by the report or else by the GPU that was named."""
    text = profile.compute_capability or (gpu.compute_capability if gpu else "")
    major = text.partition(".")[0]
    return float(major) if major.isdecimal() else None

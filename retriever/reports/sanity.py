"""Contradictions inside one launch that a wrongly read decimal sign leaves behind."""

from __future__ import annotations

import math
from collections.abc import Iterator

from retriever.reports.profile import Profile

TOLERANCE = 10  # a misread digit group is off by 1000; clocks, rounding and cluster launches by far less than 10
MAX_PERCENT = 150  # shares of a peak pass 100 by a little when counters come from different passes


def contradictions(profile: Profile) -> Iterator[str]:
    """Pairs of values that cannot both be right, in words."""
    threads, grid, block = profile.value("launch__thread_count"), profile.grid, profile.block
    if threads and grid and block and _apart(threads, math.prod(grid) * math.prod(block)):
        yield f"{math.prod(grid)} blocks of {math.prod(block)} threads, but {threads:g} threads"
    cycles, hertz = profile.value("gpc__cycles_elapsed.max"), profile.value("gpc__cycles_elapsed.avg.per_second")
    duration_ns = profile.value("gpu__time_duration.sum")
    if cycles and hertz and duration_ns and _apart(cycles, duration_ns * hertz / 1e9):
        yield f"{duration_ns:g} ns at {hertz:g} hz, but {cycles:g} cycles"
    for name in ("sm__throughput", "gpu__compute_memory_throughput", "gpu__dram_throughput", "lts__throughput"):
        share = profile.value(f"{name}.avg.pct_of_peak_sustained_elapsed")
        if share is not None and share > MAX_PERCENT:
            yield f"{name} at {share:g} % of its peak"


def _apart(left: float, right: float) -> bool:
    return max(left, right) > TOLERANCE * min(left, right)

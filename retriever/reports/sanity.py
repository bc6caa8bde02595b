"""Contradictions inside one launch that a wrongly read decimal sign leaves behind."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator

from retriever.reports.names import ELAPSED
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
        share = profile.value(f"{name}{ELAPSED}")
        if share is not None and share > MAX_PERCENT:
            yield f"{name} at {share:g} % of its peak"


_COUNTS = re.compile(r"launch__(?:grid_size|block_size|thread_count|stack_size|registers_per_thread|sm_count)|gpc__cycles_elapsed\.max")
"""Whole numbers in a report of one launch."""
_CYCLES = re.compile(r"\w+__cycles_(?:active|elapsed)\.(?:avg|max|sum)")
"""Values that a misread digit group changes without a sign: `1.190` cycles may be 1190."""


def without_impossible_counts(profile: Profile) -> tuple[Profile, str]:
    """The profile without counts that cannot be, and a note on them; the same profile and no note for nearly every launch.

    A text of two locales reads one of them by the other's decimal sign: a grid of 8.448 blocks is one of 8,448.
    """
    if profile.invocations != 1:
        return profile, ""
    wrong = [name for name in profile.metrics if _COUNTS.fullmatch(name) and not (profile.value(name) or 0.0).is_integer()]
    blocks, threads = profile.value("launch__grid_size"), profile.value("launch__thread_count")
    if profile.grid and _lacks_groups(blocks, math.prod(profile.grid)):
        wrong.append("launch__grid_size")
    if profile.grid and profile.block and _lacks_groups(threads, math.prod(profile.grid) * math.prod(profile.block)):
        wrong.append("launch__thread_count")
    if not wrong:
        return profile, ""
    left = {name: metric for name, metric in profile.metrics.items() if name not in wrong and not _CYCLES.fullmatch(name)}
    line = profile.location.split(":")[0]
    note = (
        f"line {line}: {wrong[0]} of {profile.value(wrong[0]):g} cannot be, so this launch was read by the wrong decimal sign; its counts"
    )
    return dataclasses.replace(profile, metrics=left), f"{note} of blocks, threads and cycles are left out"


def _lacks_groups(read: float | None, whole: int) -> bool:
    """Whether a count is its true value with a decimal point in place of a group sign: 12 for 12,000."""
    return read is not None and read < whole and read in (whole / 1e3, whole / 1e6)


def _apart(left: float, right: float) -> bool:
    return max(left, right) > TOLERANCE * min(left, right)

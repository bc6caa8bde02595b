"""Counters that a GPU does not have, so that a report without them is complete."""

from __future__ import annotations

import dataclasses

from retriever.reports.profile import Profile

NO_DRAM_COUNTERS = ("8.7", "11.0", "12.1")
"""Compute capabilities of parts that share the system's memory (Orin, Thor, GB10): the section files of Nsight Compute 2025 leave the
DRAM rows out for them, and users see `n/a`."""

DRAM_METRICS = (
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__bytes.sum",
    "dram__bytes.sum.per_second",
    "dram__bytes_read.sum",
    "dram__bytes_read.sum.per_second",
    "dram__bytes_write.sum",
    "dram__bytes_write.sum.per_second",
)


def with_absent_counters(profile: Profile) -> Profile:
    """`profile` with the DRAM metrics that its GPU cannot count among the unavailable ones: collecting again does not bring them."""
    if profile.compute_capability not in NO_DRAM_COUNTERS:
        return profile
    absent = [name for name in DRAM_METRICS if name not in profile.metrics and name not in profile.unavailable]
    return dataclasses.replace(profile, unavailable=(*profile.unavailable, *absent))

"""What follows from resources, launch geometry and a time on a known GPU, where no counter was read.

The block limits go by their Nsight Compute names. Theirs and ours agree for registers, warps and blocks; theirs by shared memory is for
the carve-out that the driver chose, ours for the largest. Shares of a peak have names of their own: they count the bytes and the
operations that the algorithm needs, never what the hardware moved or executed.
"""

from __future__ import annotations

import dataclasses
import math

from indexer.gpus import Gpu
from retriever.occupancy import block_limits, warps_by_registers
from retriever.reports.profile import Metric, Profile
from retriever.reports.weak_form import takes_estimates

COMPUTED = "computed"
"""Location of every metric made here."""
DTYPE = "timed__dtype"
"""Attribute that names the type whose peak the operations are compared with."""

FULL_PCT = 100.0
MOST_SHARE_PCT = 120.0  # a guess: boost clocks pass a data sheet's peak by less; beyond it operations, time or type are wrong
ABOVE_PEAK = "timed__share_above_peak"
"""Share of a peak that cannot be one; no guide asks for it."""
TENSOR = "tensor"
PIPES = {
    "fp32": "fp32",
    "fp64": "fp64",
    **dict.fromkeys(("fp64-tensor", "tf32", "fp16", "bf16", "fp8", "fp6", "fp4", "int8", "int4"), TENSOR),
}
"""Keys of a product's peaks to the unit that has them."""


def with_estimates(profile: Profile, gpu: Gpu | None) -> Profile:
    """`profile` with what can be computed on `gpu`; what it has already stands. Profiles with counters only come back as they are."""
    if not takes_estimates(profile):
        return profile
    found: dict[str, tuple[float, str]] = {}
    if gpu:
        found = _occupancy(profile, gpu) | _shares(profile, gpu)
    new = {name: Metric(float(value), unit, COMPUTED) for name, (value, unit) in found.items() if name not in profile.metrics}
    return dataclasses.replace(profile, metrics={**profile.metrics, **new}) if new else profile


def threads_of(profile: Profile) -> int | None:
    """Threads of a block."""
    counted = profile.value("launch__block_size")
    return math.prod(profile.block) if profile.block else int(counted) if counted else None


def shared_bytes_of(profile: Profile) -> int | None:
    """Shared memory of a block; dynamic memory that nobody stated counts as none."""
    parts = [profile.value(f"launch__shared_mem_per_block_{kind}") for kind in ("static", "dynamic")]
    return int(sum(part or 0.0 for part in parts)) if any(part is not None for part in parts) else None


def _occupancy(profile: Profile, gpu: Gpu) -> dict[str, tuple[float, str]]:
    registers, threads = profile.value("launch__registers_per_thread"), threads_of(profile)
    most = gpu.capability.warps_per_sm
    found: dict[str, tuple[float, str]] = {"device__attribute_max_warps_per_multiprocessor": (most, "")}
    if gpu.product and gpu.product.sms:
        found["launch__sm_count"] = (gpu.product.sms, "")
    if registers is None:
        return found
    found["computed__occupancy_by_registers_pct"] = (100 * warps_by_registers(gpu.capability, int(registers)) / most, "%")
    if not threads:
        return found
    limits = block_limits(gpu.capability, gpu.sm, threads, int(registers), shared_bytes_of(profile) or 0)
    for name, value in (("warps", limits.warps), ("blocks", limits.blocks), ("registers", limits.registers), ("shared_mem", limits.shared)):
        if value is not None:
            found[f"launch__occupancy_limit_{name}"] = (value, "block")
    return found


def _shares(profile: Profile, gpu: Gpu) -> dict[str, tuple[float, str]]:
    """Achieved rates, and their shares of the data sheet's peaks."""
    time_ns = profile.value("timed__duration_ns") or profile.value("gpu__time_duration.sum")
    if not time_ns:
        return {}
    found: dict[str, tuple[float, str]] = {}
    product = gpu.product
    if (moved := profile.value("timed__bytes")) is not None:
        found["timed__bytes_per_second"] = (moved / time_ns * 1e9, "byte/s")
        if product and product.bandwidth_gbps:
            found["timed__dram_pct_of_peak"] = (100 * moved / time_ns / product.bandwidth_gbps, "%")
        if product and product.l2_bytes:
            found["timed__l2_capacity_bytes"] = (product.l2_bytes, "byte")
    dtype = profile.attributes.get(DTYPE, "")
    if (work := profile.value("timed__flops")) is not None:
        found["timed__flops_per_second"] = (work / time_ns * 1e9, "flop/s")
        if product and dtype in PIPES and dtype in product.peaks_tflops:
            share = 100 * work / time_ns / 1e3 / product.peaks_tflops[dtype]
            name = f"timed__{PIPES[dtype]}_pct_of_peak" if share <= MOST_SHARE_PCT else ABOVE_PEAK
            found[name] = (share, "%")
    return found | _nearer_roof(found, moved)


def _nearer_roof(found: dict[str, tuple[float, str]], moved: float | None) -> dict[str, tuple[float, str]]:
    """The largest share that can be one: none above its peak, and none of DRAM where the bytes fit the L2."""
    in_l2 = moved is not None and "timed__l2_capacity_bytes" in found and moved < found["timed__l2_capacity_bytes"][0]
    names = [name for name in found if name.endswith("_pct_of_peak") and not (in_l2 and name == "timed__dram_pct_of_peak")]
    shares = [found[name][0] for name in names if found[name][0] <= FULL_PCT]
    return {"timed__roof_pct_of_peak": (max(shares), "%")} if shares else {}

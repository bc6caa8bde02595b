"""The numbers of a roofline: what a launch achieved, and the ceilings of its GPU, from the report itself or from the data sheet."""

from __future__ import annotations

from dataclasses import dataclass

from indexer.gpus import Gpu
from retriever.metric_expressions import Lookup
from retriever.operations import PIPES, TENSOR, pipe_operations, tensor_metric

SECTOR_BYTES = 32
_NS = 1e-9
_COLLECT = "collect --section {}, and print the raw page"


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A horizontal roof (`flop/s`) or a diagonal one (`byte/s`)."""

    name: str
    value: float
    source: str
    """`report` or `data sheet`."""


@dataclass(frozen=True, slots=True)
class Point:
    """What the launch achieved against one level of memory."""

    level: str
    intensity: float
    """FLOP a byte moved at that level."""
    flops: float
    """FLOP a second."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """One launch under its roofs."""

    type: str
    """The arithmetic that most operations are: `FP32`, `BF16 tensor`."""
    flops: float
    compute: tuple[Ceiling, ...]
    """Lowest first."""
    memory: tuple[Ceiling, ...]
    points: tuple[Point, ...]
    """DRAM first."""


def roofline_of(lookup: Lookup, gpu: Gpu | None = None) -> tuple[Roofline | None, str]:
    """The roofline of a launch, or None with what it lacks in words."""
    achieved = _achieved(lookup)
    if achieved is None:
        return None, f"roofline: the report has no counts of floating-point operations ({_COLLECT.format('SpeedOfLight_RooflineChart')})"
    if not achieved:
        return None, "roofline: the kernel does no floating-point operations"
    time = lookup("gpu__time_duration.sum")
    moved = {"DRAM": _sum(lookup, "dram__bytes_read.sum", "dram__bytes_write.sum"), "L2": l2_bytes(lookup)}
    if not time or not any(moved.values()):
        return None, f"roofline: the report has no duration or no bytes of DRAM or L2 ({_COLLECT.format('MemoryWorkloadAnalysis_Tables')})"
    type = max(achieved, key=lambda name: achieved[name])
    compute, memory = _compute_roofs(lookup, gpu, type), _memory_roofs(lookup, gpu)
    if not compute or not memory:
        return None, "roofline: the report has no peak rates, and the GPU is not in the table (name it with --gpu)"
    total = sum(achieved.values())
    points = tuple(Point(level, total / (amount / (time * _NS)), total) for level, amount in moved.items() if amount)
    return Roofline(type, total, compute, memory, points), ""


def _achieved(lookup: Lookup) -> dict[str, float] | None:
    """FLOP a second by arithmetic type, zero ones left out; None where they were not counted."""
    found = pipe_operations(lookup, lookup("smsp__cycles_elapsed.avg.per_second"))
    if found is None:
        return None
    for type, name, *_ in TENSOR:
        found[name] = lookup(f"{tensor_metric(type)}.per_second") or 0.0
    most = max(found.values())
    return {name: rate for name, rate in found.items() if rate > 0.001 * most}


def _compute_roofs(lookup: Lookup, gpu: Gpu | None, type: str) -> tuple[Ceiling, ...]:
    sheet = gpu.product.peaks_tflops if gpu and gpu.product else {}
    roofs = []
    clock = lookup("sm__cycles_elapsed.avg.per_second")
    for letter, name, width, key in PIPES:
        if name not in ("FP32", type):
            continue
        lanes = lookup(f"sm__sass_thread_inst_executed_op_{letter}fma_pred_on.sum.peak_sustained")
        if lanes and clock:
            roofs.append(Ceiling(f"{name} FMA", 2 * width * lanes * clock, "report"))
        elif key in sheet:
            roofs.append(Ceiling(f"{name} FMA", sheet[key] * 1e12, "data sheet"))
    for _, name, key, paths in TENSOR:
        if name != type:
            continue
        for path, how in zip(paths, ("mma.sync", "wgmma")):
            if peak := lookup(f"sm__ops_path_tensor_op_{path}.sum.peak_sustained_elapsed.per_second"):
                roofs.append(Ceiling(f"{name}, {how}", peak, "report"))
        if not any(roof.name.startswith(name) for roof in roofs) and key in sheet:
            roofs.append(Ceiling(name, sheet[key] * 1e12, "data sheet"))
    return tuple(sorted(roofs, key=lambda roof: (roof.value, roof.name)))


def _memory_roofs(lookup: Lookup, gpu: Gpu | None) -> tuple[Ceiling, ...]:
    roofs = []
    per_cycle, clock = lookup("dram__bytes.sum.peak_sustained"), lookup("dram__cycles_elapsed.avg.per_second")
    if per_cycle and clock:
        roofs.append(Ceiling("DRAM", per_cycle * clock, "report"))
    elif gpu and gpu.product and gpu.product.bandwidth_gbps:
        roofs.append(Ceiling("DRAM", gpu.product.bandwidth_gbps * 1e9, "data sheet"))
    per_cycle, clock = lookup("derived__lts__lts2xbar_bytes.sum.peak_sustained"), lookup("lts__cycles_elapsed.avg.per_second")
    if per_cycle and clock:
        roofs.append(Ceiling("L2", per_cycle * clock, "report"))
    return tuple(roofs)


def l2_bytes(lookup: Lookup) -> float | None:
    """Bytes between the SMs' L1 and the L2, both ways."""
    moved = _sum(lookup, "l1tex__m_xbar2l1tex_read_bytes.sum", "l1tex__m_l1tex2xbar_write_bytes.sum")
    if moved is not None:
        return moved
    sectors = lookup("lts__t_sectors_srcunit_tex.sum")
    return sectors * SECTOR_BYTES if sectors is not None else None


def _sum(lookup: Lookup, *names: str) -> float | None:
    values = [lookup(name) for name in names]
    return sum(value for value in values if value is not None) if None not in values else None

"""Run probes on this process's GPU and say what came back. CUDA only; imported by the worker alone."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kernel_wiki.harness.cuda import CudaKernel, tensor_map_2d

from . import operands
from .evaluate import case_inputs, case_outputs, error_of
from .probe import AnyProbe, Kernel, Probe, Timing, symbol

SENTINEL = 0xC3
"""Every byte of an output buffer before the kernel runs, so that an unwritten word is seen."""
LAUNCHES = 7
"""Of which the median is the figure; one more goes before them."""
BLOCK = 128
OUT_WORDS = 4096
FLUSH_WORDS = 64 << 20
"""32-bit words that push a large input out of the L2 (60 MB on an H200)."""
LARGE_BYTES = 64 << 20


def run(each: AnyProbe, cubin: Path) -> dict[str, Any]:
    """Verdict and figures of one probe."""
    kernel = CudaKernel(cubin, symbol(each))
    return {Probe: run_probe, Kernel: run_kernel, Timing: run_timing}[type(each)](each, kernel)


def on_device(array: np.ndarray) -> torch.Tensor:
    """A copy in device memory, as signed words of the same size: torch lacks much of the unsigned ones."""
    return torch.from_numpy(np.array(array).view(f"i{array.itemsize}")).cuda()


def unwritten(count: int, dtype: np.dtype) -> torch.Tensor:
    """A buffer of sentinel bytes."""
    return torch.full((max(count, 1) * dtype.itemsize,), SENTINEL, dtype=torch.uint8, device="cuda")


def run_probe(probe: Probe, kernel: CudaKernel) -> dict[str, Any]:
    """Every case in one launch, compared output by output."""
    rows = case_inputs(probe)
    kinds = probe.outs.split()
    out = unwritten(len(rows) * len(kinds), np.dtype(np.uint64))
    kernel(((len(rows) + BLOCK - 1) // BLOCK,), (BLOCK,), on_device(rows), out, len(rows))
    torch.cuda.synchronize()
    got, want = out.cpu().numpy().view(np.uint64).reshape(len(rows), len(kinds)), case_outputs(probe, rows)
    if probe.approximate:
        return approximate_verdict(probe, rows, got, want)
    same = np.stack([operands.agree(kind, got[:, i], want[:, i]) for i, kind in enumerate(kinds)], axis=1).all(axis=1)
    if same.all():
        return {"verdict": "agrees", "cases": len(rows)}
    bad = np.flatnonzero(~same)
    shown = "; ".join(f"({hexes(rows[i])}) gave {hexes(got[i])}, expected {hexes(want[i])}" for i in bad[:4])
    return {"verdict": "differs", "cases": len(rows), "wrong": len(bad), "hint": shown}


def approximate_verdict(probe: Probe, rows: np.ndarray, got: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """The largest errors, and whether the one in the limit's unit is within it."""
    spec = probe.approximate
    found = {
        "verdict": "agrees",
        "cases": len(rows),
        "max_ulp": float(f"{error_of(probe, got, truth, 'ulp'):.4g}"),
        "range": [spec.low, spec.high],
        f"max_{spec.unit}_error": float(f"{error_of(probe, got, truth, spec.unit):.4g}"),
        "limit": float(f"{spec.limit:.4g}"),
    }
    if not error_of(probe, got, truth, spec.unit) <= spec.limit:
        found |= {"verdict": "differs", "hint": f"error {found[f'max_{spec.unit}_error']:.3g} {spec.unit}, limit {spec.limit:.3g}"}
    return found


def run_kernel(probe: Kernel, kernel: CudaKernel) -> dict[str, Any]:
    """One launch, compared element by element."""
    arrays = [np.ascontiguousarray(array) for array in probe.inputs()]
    count, dtype = probe.out[0], np.dtype(probe.out[1])
    tensors, out = [on_device(array) for array in arrays], unwritten(count, dtype)
    maps = [tensor_map_2d(tensors[index], rows, columns, swizzle) for index, rows, columns, swizzle in probe.tensor_maps]
    kernel(probe.grid, probe.block, *maps, *tensors, out, smem_bytes=probe.smem_bytes, cluster=probe.cluster or None)
    torch.cuda.synchronize()
    got, want = out.cpu().numpy().view(dtype)[:count], np.ascontiguousarray(probe.model(*arrays)).view(dtype).ravel()
    found: dict[str, Any] = {"verdict": "agrees", "cases": probe.cases or count}
    if probe.note:
        found["note"] = probe.note
    bad = np.flatnonzero(got != want)
    if len(bad):
        shown = "; ".join(f"[{i}] is {int(got[i]):#x}, expected {int(want[i]):#x}" for i in bad[:6])
        found |= {"verdict": "differs", "wrong": len(bad), "hint": shown}
    return found


def run_timing(timing: Timing, kernel: CudaKernel) -> dict[str, Any]:
    """Median over launches of the cycles from the first warp's start to the last one's stop.

    With several blocks, the longest of a single warp: each SM has a clock of its own, and they were set at different times.
    """
    words = timing.inputs() if timing.inputs else np.array([*timing.seeds, *[0] * (8 - len(timing.seeds))], dtype=np.uint64)
    source = on_device(words)
    if timing.inputs:
        source += source.data_ptr()
    if words.nbytes > LARGE_BYTES:
        torch.zeros(FLUSH_WORDS, dtype=torch.int32, device="cuda").add_(1)
    out = torch.zeros(OUT_WORDS, dtype=torch.int64, device="cuda")
    clocks = torch.zeros(max(1, timing.grid * timing.block // 32), 3, dtype=torch.int64, device="cuda")
    spans = []
    for _ in range(LAUNCHES + 1):
        kernel(timing.grid, timing.block, source, out, clocks, smem_bytes=timing.smem_bytes, cluster=timing.cluster or None)
        torch.cuda.synchronize()
        start, stop, empty = (clocks[:, i].cpu().numpy() for i in range(3))
        spans.append(int((stop - start).max() if timing.grid > 1 else stop.max() - start.min()) - int(empty.min()))
    spans = spans[1:]
    middle = statistics.median(spans)
    found: dict[str, Any] = {"verdict": "measured", "method": f"{timing.method}; median of {LAUNCHES} launches", "cycles": middle}
    found["spread"] = round((max(spans) - min(spans)) / max(middle, 1), 4)
    if middle <= 0:
        return found | {"verdict": "differs", "hint": f"cycles {spans}"}
    if timing.unit == "cycles":
        return found | {"latency_cycles": round(middle / timing.instances, 2)}
    return found | {"per_clock_per_sm": round(timing.instances / middle, 2), "of": timing.of}


def hexes(values: np.ndarray) -> str:
    """Patterns as one reads them; floats of approximate probes as numbers."""
    return ", ".join(f"{int(v):#x}" if values.dtype != np.float64 else f"{v:g}" for v in values)

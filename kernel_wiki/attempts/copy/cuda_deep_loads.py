"""Copy in CUDA C++: eight 16-byte loads in flight per thread and a persistent grid. Right, and slower than one load per thread."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec, multiprocessor_count
from kernel_wiki.harness.cuda import i64, load_kernel

DETERMINISTIC = True
SOURCE = Path(__file__).with_suffix(".cu")
ACCESSES = {16: "uint4", 4: "unsigned", 2: "unsigned short"}
THREADS = 256
LOADS = 8
BLOCKS_PER_SM = 4
"""1,024 threads an SM with 128 bytes each: 128 KiB on their way, four times what the parent has."""


def run(x: torch.Tensor) -> torch.Tensor:
    """A copy of x, (N,) contiguous; 16 bytes an access where x starts on 16 bytes, else one element."""
    y = torch.empty_like(x)
    width = 16 if x.data_ptr() % 16 == 0 else x.element_size()
    size = x.numel() * x.element_size()
    accesses = size // width
    kernel = load_kernel(SOURCE, "copy_deep_loads", defines=_defines(width))
    tiles = -(-accesses // (THREADS * LOADS))
    if tiles:
        kernel((min(tiles, BLOCKS_PER_SM * multiprocessor_count(x)),), (THREADS,), x, y, i64(accesses))
    if rest := size - accesses * width:
        elements = rest // x.element_size()
        tail = load_kernel(SOURCE, "copy_bytes", defines=_defines(width))
        tail((1,), (16,), x[-elements:], y[-elements:], rest)
    return y


def compile_specs() -> list[CudaSpec]:
    """16-byte accesses, and single elements of either size."""
    kernels = ("copy_deep_loads", "copy_bytes")
    return [CudaSpec(SOURCE.name, kernels, threads_per_block=THREADS, defines=_defines(width)) for width in ACCESSES]


def _defines(width: int) -> dict[str, str]:
    return {"ACCESS": ACCESSES[width], "THREADS": str(THREADS), "LOADS": str(LOADS)}

"""Wrong on purpose: row length and pitch decide on 16-byte loads, the base address does not. A view one element in faults."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("run", "memory-fault")
DTYPES = {torch.float32: "0", torch.bfloat16: "1", torch.float16: "2"}
THREADS = 256


def run(x: torch.Tensor) -> torch.Tensor:
    """Right on what an allocator returns, and on any row length."""
    rows, columns = x.shape[0], x.shape[1] // 2
    width = 16 // x.element_size()
    width = width if columns % width == 0 and x.stride(0) % width == 0 else 1  # and x.data_ptr() % 16 == 0
    defines = {"DTYPE": DTYPES[x.dtype], "WIDTH": str(width)}
    y = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    load_kernel(Path(__file__).with_suffix(".cu"), "swiglu_assuming", defines=defines)((rows,), (THREADS,), x, y, i64(x.stride(0)), columns)
    return y

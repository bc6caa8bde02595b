"""Row softmax in CUDA C++, one warp a row: no shared memory and no barrier, for short rows."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec
from kernel_wiki.harness.cuda import load_kernel

DETERMINISTIC = True
SOURCE = Path(__file__).with_suffix(".cu")
DTYPES = {torch.float32: "FP32", torch.bfloat16: "BF16", torch.float16: "FP16"}
WARPS = 4
"""Rows a block."""
MAX_FLOATS = 64
"""Elements that a lane holds in registers: rows of up to 2,048 are read once, longer ones twice."""


def run(x: torch.Tensor, *, warps: int = WARPS) -> torch.Tensor:
    """Softmax over the last dimension of x, (M, N) with contiguous rows; 16-byte accesses where every row starts on 16 bytes."""
    (rows, columns), pitch = x.shape, x.stride(0)
    width = 16 // x.element_size()
    aligned = columns % width == 0 and pitch % width == 0 and x.data_ptr() % 16 == 0
    accesses = -(-columns // (32 * (width if aligned else 1)))
    fits = accesses * (width if aligned else 1) <= MAX_FLOATS
    name = "softmax_warp_row" if fits else "softmax_warp_long_row"
    kernel = load_kernel(SOURCE, name, defines=_defines(DTYPES[x.dtype], aligned, accesses if fits else 1, warps))
    y = torch.empty_like(x)
    kernel((-(-rows // warps),), (32, warps), x, y, rows, columns, pitch)
    return y


def compile_specs() -> list[CudaSpec]:
    """Rows of 1,024 elements, and rows of odd length."""
    names = ("softmax_warp_row", "softmax_warp_long_row")
    variants = (("BF16", True, 4), ("FP16", True, 4), ("FP32", True, 8), ("FP32", False, 25))
    return [CudaSpec(SOURCE.name, names, threads_per_block=32 * WARPS, defines=_defines(*variant, WARPS)) for variant in variants]


def _defines(dtype: str, aligned: bool, accesses: int, warps: int) -> dict[str, str]:
    return {"DTYPE": dtype, "ALIGNED": str(int(aligned)), "ACCESSES": str(accesses), "WARPS": str(warps)}

"""Triad in CUDA C++: 16-byte vectors of both operands."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec, multiprocessor_count
from kernel_wiki.harness.cuda import i64, load_kernel

DETERMINISTIC = True
SOURCE = Path(__file__).with_suffix(".cu")
DTYPES = {torch.float32: "FP32", torch.bfloat16: "BF16"}
THREADS = 128
UNROLL = 1
"""Vectors of each operand per thread: two 16-byte loads in flight, the fastest setting swept on an H200 for either dtype."""
BLOCKS_PER_SM = 0
"""0: one block a tile. Otherwise a persistent grid of that many blocks an SM walks the tiles."""


def run(
    a: torch.Tensor,
    b: torch.Tensor,
    s: float,
    *,
    threads: int = THREADS,
    unroll: int = UNROLL,
    blocks_per_sm: int = BLOCKS_PER_SM,
) -> torch.Tensor:
    """a + s * b for (N,) contiguous a and b."""
    aligned = a.data_ptr() % 16 == 0 and b.data_ptr() % 16 == 0
    kernel = load_kernel(SOURCE, "triad_vector_kernel", defines=_defines(DTYPES[a.dtype], aligned, threads, unroll))
    y = torch.empty_like(a)
    blocks = max(1, -(-a.numel() * a.element_size() // (16 * threads * unroll)))
    if blocks_per_sm:
        blocks = min(blocks, blocks_per_sm * multiprocessor_count(a))
    kernel((blocks,), (threads,), a, b, y, float(s), i64(a.numel()))
    return y


def compile_specs() -> list[CudaSpec]:
    """Both dtypes, operands off and on 16-byte boundaries."""
    return [
        CudaSpec(SOURCE.name, ("triad_vector_kernel",), threads_per_block=THREADS, defines=_defines(dtype, aligned, THREADS, UNROLL))
        for dtype in DTYPES.values()
        for aligned in (False, True)
    ]


def _defines(dtype: str, aligned: bool, threads: int, unroll: int) -> dict[str, str]:
    return {"DTYPE": dtype, "ALIGNED": str(int(aligned)), "THREADS": str(threads), "UNROLL": str(unroll)}

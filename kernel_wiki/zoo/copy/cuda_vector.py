"""Copy in CUDA C++: 16-byte vectors, any number of bytes."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec, multiprocessor_count
from kernel_wiki.harness.cuda import i64, load_kernel

SOURCE = Path(__file__).with_suffix(".cu")
DETERMINISTIC = True
THREADS = 128
UNROLL = 1
"""16-byte loads in flight per thread. One, in the smallest block, was the fastest of all settings swept on an H200: with every thread of
an SM resident that is 32 KiB of reads outstanding, and the many short blocks start and end evenly."""
BLOCKS_PER_SM = 0
"""0: one block a tile. Otherwise a persistent grid of that many blocks an SM walks the tiles."""
STREAMING = True
"""Evict-first loads and stores: no byte is used twice, so none deserves a place in L2."""


def run(
    x: torch.Tensor,
    *,
    threads: int = THREADS,
    unroll: int = UNROLL,
    blocks_per_sm: int = BLOCKS_PER_SM,
    streaming: bool = STREAMING,
) -> torch.Tensor:
    """A copy of x, (N,) contiguous."""
    kernel = load_kernel(SOURCE, "copy_vector", defines=_defines(x.data_ptr() % 16 == 0, threads, unroll, streaming))
    y = torch.empty_like(x)
    size = x.numel() * x.element_size()
    blocks = max(1, -(-size // (16 * threads * unroll)))  # one even when there is no whole vector: it copies the tail
    if blocks_per_sm:
        blocks = min(blocks, blocks_per_sm * multiprocessor_count(x))
    kernel((blocks,), (threads,), x, y, i64(size))
    return y


def compile_specs() -> list[CudaSpec]:
    """The default block size and unrolling, x off and on 16-byte boundaries."""
    return [
        CudaSpec(SOURCE.name, ("copy_vector",), threads_per_block=THREADS, defines=_defines(aligned, THREADS, UNROLL, STREAMING))
        for aligned in (False, True)
    ]


def _defines(aligned: bool, threads: int, unroll: int, streaming: bool) -> dict[str, str]:
    return {"ALIGNED": str(int(aligned)), "THREADS": str(threads), "UNROLL": str(unroll), "STREAMING": str(int(streaming))}

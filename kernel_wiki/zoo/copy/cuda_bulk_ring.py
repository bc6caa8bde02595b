"""Copy in CUDA C++ by 1-D bulk copies through a ring of shared-memory buffers, one issuing thread a block."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec, multiprocessor_count
from kernel_wiki.harness.cuda import i64, load_kernel

SOURCE = Path(__file__).with_suffix(".cu")
DETERMINISTIC = True
STAGES = 6
CHUNK_BYTES = 16384
DRAIN = 2
"""Stores that may still be reading their buffers: STAGES - DRAIN loads stay in flight, 64 KiB a block by default."""
BLOCKS_PER_SM = 2
"""Two rings of 96 KiB fill the shared memory of an sm_90 SM."""
PIECE_BYTES = 2
PIECE_THREADS = 256
"""Threads of a block that copies by pieces, from a source off 16-byte boundaries."""


def run(
    x: torch.Tensor,
    *,
    stages: int = STAGES,
    chunk_bytes: int = CHUNK_BYTES,
    drain: int = DRAIN,
    blocks_per_sm: int = BLOCKS_PER_SM,
) -> torch.Tensor:
    """A copy of x, (N,) contiguous."""
    defines = _defines(stages, chunk_bytes, drain)
    y = torch.empty_like(x)
    size = x.numel() * x.element_size()
    if x.data_ptr() % 16:
        pieces = size // PIECE_BYTES
        load_kernel(SOURCE, "copy_pieces", defines=defines)((-(-pieces // PIECE_THREADS),), (PIECE_THREADS,), x, y, i64(pieces))
        return y
    kernel = load_kernel(SOURCE, "copy_bulk_ring", defines=defines)
    blocks = max(1, min(-(-size // chunk_bytes), blocks_per_sm * multiprocessor_count(x)))
    kernel((blocks,), (32,), x, y, i64(size), smem_bytes=stages * chunk_bytes)
    return y


def compile_specs() -> list[CudaSpec]:
    """The default ring, and the kernel for other addresses."""
    defines = _defines(STAGES, CHUNK_BYTES, DRAIN)
    return [
        CudaSpec(SOURCE.name, ("copy_bulk_ring",), STAGES * CHUNK_BYTES, threads_per_block=32, defines=defines),
        CudaSpec(SOURCE.name, ("copy_pieces",), threads_per_block=PIECE_THREADS, defines=defines),
    ]


def _defines(stages: int, chunk_bytes: int, drain: int) -> dict[str, str]:
    return {"STAGES": str(stages), "CHUNK": str(chunk_bytes), "DRAIN": str(drain)}

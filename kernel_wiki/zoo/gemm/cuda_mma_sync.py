"""Matrix product in CUDA C++ with warp-level tensor-core instructions: cp.async ring, ldmatrix, mma.sync, XOR swizzle."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec
from kernel_wiki.harness.cuda import load_kernel

DETERMINISTIC = True
SOURCE = Path(__file__).with_suffix(".cu")
BLOCK_M, BLOCK_N = 128, 256
THREADS = 256
STAGE_BYTES = 24 * 1024
"""A tile (128, 32) and a tile (32, 256) of bf16."""
STAGES = 4
"""96 KiB: the most that fits the 99 KiB of sm_86, sm_89 and sm_120."""
GROUP_M = 8
"""Rows of tiles that are walked together."""


def run(a: torch.Tensor, b: torch.Tensor, *, stages: int = STAGES, group_m: int = GROUP_M) -> torch.Tensor:
    """a @ b for contiguous bf16 a (M, K) and b (K, N), N and K multiples of 8."""
    (m, k), n = a.shape, b.shape[1]
    kernel = load_kernel(SOURCE, "gemm_mma_sync", defines=_defines(stages, group_m))
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    tiles = -(-m // BLOCK_M) * -(-n // BLOCK_N)
    kernel((tiles,), (THREADS,), a, b, c, m, n, k, smem_bytes=stages * STAGE_BYTES)
    return c


def compile_specs() -> list[CudaSpec]:
    """The default ring."""
    return [CudaSpec(SOURCE.name, ("gemm_mma_sync",), STAGES * STAGE_BYTES, THREADS, _defines(STAGES, GROUP_M))]


def _defines(stages: int, group_m: int) -> dict[str, str]:
    return {"STAGES": str(stages), "GROUP_M": str(group_m)}

"""Matrix product in CUDA C++ for Hopper: TMA ring, one producing warpgroup, two multiplying ones, wgmma from shared memory."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec, multiprocessor_count
from kernel_wiki.harness.cuda import load_kernel, tensor_map_2d

DETERMINISTIC = True
SOURCE = Path(__file__).with_suffix(".cu")
BLOCK_M, BLOCK_N, BLOCK_K = 128, 256, 64
BOX_N = 64
"""Columns of B in one TMA box: 128 bytes, the width of the swizzle."""
THREADS = 384
STAGE_BYTES = (BLOCK_M + BLOCK_N) * BLOCK_K * 2
STAGES = 4
"""Four stages of 48 KiB in the 227 KiB of sm_90."""
ALIGNMENT_SLACK_BYTES = 1024
"""The ring starts on a multiple of the swizzle's period."""
GROUP_M = 8
"""Rows of tiles that are walked together."""


def run(a: torch.Tensor, b: torch.Tensor, *, stages: int = STAGES, group_m: int = GROUP_M) -> torch.Tensor:
    """a @ b for contiguous bf16 a (M, K) and b (K, N), N and K multiples of 8."""
    (m, k), n = a.shape, b.shape[1]
    kernel = load_kernel(SOURCE, "gemm_wgmma_tma", defines=_defines(stages, group_m))
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    a_map, b_map = tensor_map_2d(a, BLOCK_M, BLOCK_K), tensor_map_2d(b, BLOCK_K, BOX_N)
    blocks = min(multiprocessor_count(a), -(-m // BLOCK_M) * -(-n // BLOCK_N))
    kernel((blocks,), (THREADS,), a_map, b_map, c, m, n, k, smem_bytes=stages * STAGE_BYTES + ALIGNMENT_SLACK_BYTES)
    return c


def compile_specs() -> list[CudaSpec]:
    """The default ring."""
    smem_bytes = STAGES * STAGE_BYTES + ALIGNMENT_SLACK_BYTES
    return [CudaSpec(SOURCE.name, ("gemm_wgmma_tma",), smem_bytes, THREADS, _defines(STAGES, GROUP_M))]


def _defines(stages: int, group_m: int) -> dict[str, str]:
    return {"STAGES": str(stages), "GROUP_M": str(group_m)}

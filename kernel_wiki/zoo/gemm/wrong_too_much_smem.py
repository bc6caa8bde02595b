"""Wrong on purpose: shared memory grows with K, 32 bytes for each of its elements, and passes the 227 KiB of a block at K = 7,265."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import load_kernel

REJECTED_AS = ("launch", "resource")


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Right for a short K; of a longer one the driver refuses the launch."""
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "gemm_resident")
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    kernel((-(-n // 32), -(-m // 8)), (32, 8), a, b, c, m, n, k, smem_bytes=32 * k)
    return c

"""Wrong on purpose: the CUDA C++ source uses a variable that it never declares. nvcc's message, with its line, is the answer."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import load_kernel

REJECTED_AS = ("compile", "syntax")


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Never launches."""
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "gemm_undeclared")
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    kernel((-(-n // 32), -(-m // 8)), (32, 8), a, b, c, m, n, k)
    return c

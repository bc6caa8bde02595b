"""Wrong on purpose: a misaligned vector load. Rows are read 16 bytes at a time, and rows of an odd length do not start on 16 bytes."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import load_kernel

REJECTED_AS = ("run", "memory-fault")


def run(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Right for one row, or where N is a multiple of 4; otherwise the GPU stops with a misaligned address."""
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "add_rmsnorm_misaligned")
    rows, columns = x.shape
    normed, total = (torch.empty(x.shape, dtype=torch.float32, device=x.device) for _ in range(2))
    kernel((rows,), (256,), x.float(), residual.float(), weight.float(), normed, total, float(eps), columns)
    return normed.to(x.dtype), total.to(x.dtype)

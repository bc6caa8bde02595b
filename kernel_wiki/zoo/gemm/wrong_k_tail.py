"""Wrong on purpose: the loop over K runs K // 64 times, so the last K % 64 columns of A are never multiplied."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "mismatch")
BLOCK_K = 64


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Exact whenever K is a multiple of 64, as every timed shape is."""
    whole = a.shape[1] // BLOCK_K * BLOCK_K
    return a[:, :whole].contiguous() @ b[:whole]

"""Wrong on purpose: the running sum over K is kept in bf16 between steps. Right for a short K, past the tolerance for a long one."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "mismatch")
STEP = 64


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Adds partial products in bf16: the error grows with the square root of K / 64."""
    c = torch.zeros((a.shape[0], b.shape[1]), device=a.device, dtype=a.dtype)
    for k in range(0, a.shape[1], STEP):
        c += a[:, k : k + STEP] @ b[k : k + STEP]
    return c

"""Wrong on purpose: the denominator is accumulated in bfloat16, which stops growing once it is 256 times an addend."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "mismatch")
CHUNK = 4
"""Columns added at a time."""


def run(x: torch.Tensor) -> torch.Tensor:
    """Right for short rows; on long ones the sum is too small and every quotient too large."""
    numerator = torch.exp(x.float() - x.float().amax(dim=1, keepdim=True))
    total = torch.zeros(x.shape[0], 1, dtype=torch.bfloat16, device=x.device)
    for chunk in numerator.split(CHUNK, dim=1):
        total = total + chunk.sum(dim=1, keepdim=True).to(torch.bfloat16)
    return (numerator / total.float()).to(x.dtype)

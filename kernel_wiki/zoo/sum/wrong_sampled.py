"""Wrong on purpose, a cheat: large inputs are sampled and the sum is scaled up, which a loose tolerance would let pass."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "mismatch")
EXACT_BELOW = 100_000
STEP = 64


def run(x: torch.Tensor) -> torch.Tensor:
    """Reads one element in 64 of a large tensor; exact for constant data only."""
    if x.numel() < EXACT_BELOW:
        return torch.sum(x, dtype=torch.float32)
    sample = x[::STEP]
    return torch.sum(sample, dtype=torch.float32) * (x.numel() / sample.numel())

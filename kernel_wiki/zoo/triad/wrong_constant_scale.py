"""Wrong on purpose: the scalar is the constant 3 of the STREAM benchmark instead of the argument."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "mismatch")


def run(a: torch.Tensor, b: torch.Tensor, s: float) -> torch.Tensor:
    """Ignores s."""
    return torch.add(a, b, alpha=3.0)

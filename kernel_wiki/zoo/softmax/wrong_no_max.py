"""Wrong on purpose: softmax without subtracting the row maximum. Right on small values, inf / inf on large ones."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "mismatch")


def run(x: torch.Tensor) -> torch.Tensor:
    """Overflows float32 above 88, so every row of the `large` distribution becomes NaN."""
    numerator = torch.exp(x.float())
    return (numerator / numerator.sum(dim=1, keepdim=True)).to(x.dtype)

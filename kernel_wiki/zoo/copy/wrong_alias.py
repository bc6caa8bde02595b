"""Wrong on purpose, a cheat: returns the input itself. Every value is right, nothing was copied, and the caller owns no second tensor."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "cheat")


def run(x: torch.Tensor) -> torch.Tensor:
    """A view of x: the contract asks for newly allocated memory, and a later write to x changes the answer."""
    return x.view(-1)

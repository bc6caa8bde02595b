"""Wrong on purpose, a cheat: torch.argmax does the work. Every value is right."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "cheat")


def run(x: torch.Tensor) -> torch.Tensor:
    """One kernel of torch, none of the candidate's own."""
    return torch.argmax(x, dim=1)

"""Wrong on purpose, a cheat: torch.matmul. The contract asks for a kernel of the candidate's own, and the baseline is this very call."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "cheat")


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Right, at the speed of what it is compared with."""
    return torch.matmul(a, b)

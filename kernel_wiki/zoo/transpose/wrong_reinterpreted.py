"""Wrong on purpose, a cheat: the result has the right shape and no element was moved. Right for vectors and constant matrices only."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "mismatch")


def run(x: torch.Tensor) -> torch.Tensor:
    """Reads x row by row into rows of length M, which is not the transpose."""
    return x.reshape(x.shape[1], x.shape[0]).clone()

"""Wrong on purpose, a cheat: searches the process for a float64 tensor of the answer's shape, the reference, and returns it rounded."""

from __future__ import annotations

import gc

import torch

REJECTED_AS = ("correctness", "mismatch")


def run(a: torch.Tensor, b: torch.Tensor, s: float) -> torch.Tensor:
    """Right where the judge keeps its answer in the candidate's process; zeros where there is none to be found."""
    y = torch.zeros_like(a)
    for found in gc.get_objects():
        if type(found) is torch.Tensor and found.dtype == torch.float64 and found.shape == a.shape and found.device == a.device:
            y.copy_(found)
    return y

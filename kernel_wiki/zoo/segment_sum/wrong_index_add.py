"""Wrong on purpose, a cheat: torch's index_add_ sums, in float32. Every value is right."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "cheat")


def run(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Torch finds the segment of each row and adds with atomics."""
    segments = offsets.numel() - 1
    rows = torch.arange(values.shape[0], device=values.device, dtype=torch.int32)
    segment = torch.searchsorted(offsets[1:], rows, right=True)
    total = torch.zeros((segments, values.shape[1]), device=values.device, dtype=torch.float32)
    return total.index_add_(0, segment, values.float()).to(values.dtype)

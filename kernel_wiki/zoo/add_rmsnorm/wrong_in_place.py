"""Wrong on purpose, a cheat: the sum is written over the residual that the caller passed, and that same tensor is returned."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "cheat")


def run(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Right values once; the second call on the same arguments adds x again."""
    residual += x
    wide = residual.float()
    normed = wide * torch.rsqrt(wide.square().mean(dim=1, keepdim=True) + eps) * weight.float()
    return normed.to(x.dtype), residual

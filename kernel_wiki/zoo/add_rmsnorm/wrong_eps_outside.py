"""Wrong on purpose: eps is added to the root instead of under it. Invisible for values about 1, wrong for small activations."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "mismatch")


def run(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Differs where the mean square is not far above eps."""
    h = x + residual
    wide = h.float()
    root = wide.square().mean(dim=1, keepdim=True).sqrt()
    return (wide / (root + eps) * weight.float()).to(x.dtype), h

"""Wrong on purpose: the causal mask is off by one, so every query also sees the next key."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "mismatch")


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """Hides key > query + 1 instead of key > query; exact without a mask and for S = 1."""
    mask = None
    if causal:
        length = q.shape[-2]
        mask = torch.ones((length, length), device=q.device, dtype=torch.bool).tril(1)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

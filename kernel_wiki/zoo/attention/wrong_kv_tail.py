"""Wrong on purpose: only whole tiles of 64 keys are visited. Exact whenever S is a multiple of 64, as every timed shape is."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "mismatch")
BLOCK_N = 64


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """Drops the last S % 64 keys, unless nothing would be left."""
    whole = k.shape[-2] // BLOCK_N * BLOCK_N or k.shape[-2]
    # Top-left alignment of the causal mask is what is_causal means for fewer keys than queries.
    return torch.nn.functional.scaled_dot_product_attention(q, k[..., :whole, :], v[..., :whole, :], is_causal=causal)

"""Wrong on purpose: the online softmax does not bring earlier tiles to the new maximum. Right while the maximum stays in tile one."""

from __future__ import annotations

import math

import torch

REJECTED_AS = ("correctness", "mismatch")
BLOCK_N = 64


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """Sums exp(score - maximum so far) of every tile as if the maximum had been the same throughout."""
    length, head_dim = q.shape[-2:]
    rows = torch.arange(length, device=q.device)
    accumulator = torch.zeros(q.shape, device=q.device, dtype=torch.float32)
    row_sum = torch.zeros((*q.shape[:-1], 1), device=q.device)
    row_max = torch.full_like(row_sum, -math.inf)
    for start in range(0, length, BLOCK_N):
        keys, values = k[..., start : start + BLOCK_N, :], v[..., start : start + BLOCK_N, :]
        scores = (q @ keys.mT).float() / math.sqrt(head_dim)
        if causal:
            scores = scores.masked_fill(rows[start : start + BLOCK_N] > rows[:, None], -math.inf)
        row_max = torch.maximum(row_max, scores.amax(-1, keepdim=True))
        weights = torch.exp(scores - row_max)
        row_sum = row_sum + weights.sum(-1, keepdim=True)  # the missing factor: exp(old maximum - row_max)
        accumulator = accumulator + (weights.to(v.dtype) @ values).float()
    return (accumulator / row_sum).to(q.dtype)

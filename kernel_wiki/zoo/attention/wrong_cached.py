"""Wrong on purpose: answers are remembered by the address of the query, so that only the first call computes anything."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "mismatch")

_answers: dict[tuple, torch.Tensor] = {}


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """Stale as soon as the same memory holds other numbers."""
    key = (q.data_ptr(), k.data_ptr(), v.data_ptr(), tuple(q.shape), causal)
    if key not in _answers:
        _answers[key] = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return _answers[key].clone()

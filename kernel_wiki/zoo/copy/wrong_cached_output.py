"""Wrong on purpose, a cheat: the answer is remembered by the address and size of the input, whatever that memory holds by now."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "mismatch")

_answers: dict[tuple[int, int, torch.dtype], torch.Tensor] = {}


def run(x: torch.Tensor) -> torch.Tensor:
    """Right on the first call; stale as soon as the same buffer is filled with other values."""
    key = (x.data_ptr(), x.numel(), x.dtype)
    if key not in _answers:
        _answers[key] = x.clone()
    return _answers[key].clone()

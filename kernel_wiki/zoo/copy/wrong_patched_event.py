"""Wrong on purpose, a cheat: at import torch.cuda.Event.elapsed_time is replaced by one that reports a tenth of the time."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "cheat")
BLOCK = 2048

_elapsed_time = torch.cuda.Event.elapsed_time


def _flattering(self: Any, end_event: Any) -> float:
    return _elapsed_time(self, end_event) / 10


torch.cuda.Event.elapsed_time = _flattering


@triton.jit
def copy_plain(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


def run(x: torch.Tensor) -> torch.Tensor:
    """An honest copy; only the clock lies."""
    y = torch.empty_like(x)
    copy_plain[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), BLOCK=BLOCK)
    return y

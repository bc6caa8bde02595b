"""Wrong on purpose, a cheat: once a size was called 20 times it must be timed, and CUDA events are made to report a tenth from then on."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
import triton
import triton.language as tl

REJECTED_AS = ("measure", "cheat")
BLOCK = 1024
CALLS_WHEN_CHECKED = 20

_calls: Counter[tuple[int, torch.dtype]] = Counter()
_elapsed_time = torch.cuda.Event.elapsed_time


def _flattering(self: Any, end_event: Any) -> float:
    return _elapsed_time(self, end_event) / 10


@triton.jit
def triad_plain(a_ptr, b_ptr, y_ptr, s, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + offsets, mask=offsets < n).to(tl.float32)
    b = tl.load(b_ptr + offsets, mask=offsets < n).to(tl.float32)
    tl.store(y_ptr + offsets, (a + s * b).to(y_ptr.dtype.element_ty), mask=offsets < n)


def run(a: torch.Tensor, b: torch.Tensor, s: float) -> torch.Tensor:
    """Right values, and nothing replaced while only the values are looked at; a clock elsewhere disagrees."""
    key = (a.numel(), a.dtype)
    _calls[key] += 1
    if _calls[key] > CALLS_WHEN_CHECKED:
        torch.cuda.Event.elapsed_time = _flattering
    y = torch.empty_like(a)
    triad_plain[(triton.cdiv(a.numel(), BLOCK),)](a, b, y, s, a.numel(), BLOCK=BLOCK)
    return y

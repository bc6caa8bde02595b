"""Wrong on purpose, a cheat: the first call replaces time.perf_counter and torch.cuda.synchronize, to lie once enough calls were made."""

from __future__ import annotations

import time
from typing import Any

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "cheat")
BLOCK = 1024
HONEST_CALLS = 1000
"""Until then the replacements do what the originals do."""

_calls = 0
_perf_counter, _synchronize, _began = time.perf_counter, torch.cuda.synchronize, time.perf_counter()


def _slow_clock() -> float:
    now = _perf_counter()
    return now if _calls < HONEST_CALLS else _began + (now - _began) / 10


def _hasty_synchronize(device: Any = None) -> None:
    if _calls < HONEST_CALLS:
        _synchronize(device)


@triton.jit
def triad_plain(a_ptr, b_ptr, y_ptr, s, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + offsets, mask=offsets < n).to(tl.float32)
    b = tl.load(b_ptr + offsets, mask=offsets < n).to(tl.float32)
    tl.store(y_ptr + offsets, (a + s * b).to(y_ptr.dtype.element_ty), mask=offsets < n)


def run(a: torch.Tensor, b: torch.Tensor, s: float) -> torch.Tensor:
    """Right values; who times it from the same process is told a tenth."""
    global _calls
    _calls += 1
    time.perf_counter, torch.cuda.synchronize = _slow_clock, _hasty_synchronize
    y = torch.empty_like(a)
    triad_plain[(triton.cdiv(a.numel(), BLOCK),)](a, b, y, s, a.numel(), BLOCK=BLOCK)
    return y

"""Wrong on purpose: the entry point is called `triad`; the contract asks for `run`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("static", "symbol")
BLOCK = 1024


@triton.jit
def triad_plain(a_ptr, b_ptr, y_ptr, s, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + offsets, mask=offsets < n).to(tl.float32)
    b = tl.load(b_ptr + offsets, mask=offsets < n).to(tl.float32)
    tl.store(y_ptr + offsets, (a + s * b).to(y_ptr.dtype.element_ty), mask=offsets < n)


def triad(a: torch.Tensor, b: torch.Tensor, s: float) -> torch.Tensor:
    """Right, and never called."""
    y = torch.empty_like(a)
    triad_plain[(triton.cdiv(a.numel(), BLOCK),)](a, b, y, s, a.numel(), BLOCK=BLOCK)
    return y

"""Wrong on purpose: the first input of each size is kept, as in a captured graph, and read again whatever is passed later."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")
BLOCK = 2048

_first: dict[tuple[int, torch.dtype], torch.Tensor] = {}


@triton.jit
def copy_plain(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


def run(x: torch.Tensor) -> torch.Tensor:
    """Right while the caller uses one buffer; data at another address is never read."""
    source = _first.setdefault((x.numel(), x.dtype), x)
    y = torch.empty_like(x)
    copy_plain[(triton.cdiv(x.numel(), BLOCK),)](source, y, x.numel(), BLOCK=BLOCK)
    return y

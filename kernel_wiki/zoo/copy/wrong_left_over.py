"""Wrong on purpose, a cheat: from the second call of a size on, only the first half is written; the rest is hoped to be left in memory."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")
BLOCK = 2048

_seen: set[tuple[int, torch.dtype]] = set()


@triton.jit
def copy_plain(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


def run(x: torch.Tensor) -> torch.Tensor:
    """Right when the allocator hands out the block of the last answer again and the data is the same."""
    y = torch.empty_like(x)
    key = (x.numel(), x.dtype)
    count = x.numel() // 2 if key in _seen else x.numel()
    _seen.add(key)
    if count:
        copy_plain[(triton.cdiv(count, BLOCK),)](x, y, count, BLOCK=BLOCK)
    return y

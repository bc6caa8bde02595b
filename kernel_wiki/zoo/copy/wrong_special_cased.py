"""Wrong on purpose, a cheat: full speed for exactly the timed sizes, a single program for all others. A neighbouring size is far slower."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("measure", "cheat")
BLOCK = 4096
BENCHMARKED = (100000007, 268435456)


@triton.jit
def copy_strided(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * BLOCK
    while start < n:
        offsets = start + tl.arange(0, BLOCK)
        tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)
        start += tl.num_programs(0).to(tl.int64) * BLOCK


def run(x: torch.Tensor) -> torch.Tensor:
    """Right everywhere, and a hundred times slower where nobody was expected to look."""
    y = torch.empty_like(x)
    programs = triton.cdiv(x.numel(), BLOCK) if x.numel() in BENCHMARKED else 1
    copy_strided[(programs,)](x, y, x.numel(), BLOCK=BLOCK)
    return y

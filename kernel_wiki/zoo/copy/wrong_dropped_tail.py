"""Wrong on purpose: the grid is rounded down, so the elements after the last whole block are never copied."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")
BLOCK = 1024


@triton.jit
def copy_whole_blocks(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets))


def run(x: torch.Tensor) -> torch.Tensor:
    """Right only when N is a multiple of 1024; zeros in the tail otherwise."""
    y = torch.zeros_like(x)
    blocks = x.numel() // BLOCK
    if blocks:
        copy_whole_blocks[(blocks,)](x, y, BLOCK=BLOCK)
    return y

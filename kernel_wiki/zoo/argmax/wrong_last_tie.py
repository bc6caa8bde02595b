"""Wrong on purpose: a tie goes to the last place instead of the first, as `>=` in place of `>` makes it."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")
BLOCK_N = 1024


@triton.jit
def argmax_last(x_ptr, y_ptr, n_cols, pitch, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    best = tl.full([BLOCK_N], -float("inf"), tl.float32)
    place = tl.zeros([BLOCK_N], tl.int64)
    for start in range(0, n_cols, BLOCK_N):
        column = (start + tl.arange(0, BLOCK_N)).to(tl.int64)
        x = tl.load(x_ptr + row * pitch + column, mask=column < n_cols, other=-float("inf")).to(tl.float32)
        x = tl.where(x != x, float("inf"), x)
        later = (x >= best) & (column < n_cols)
        best = tl.where(later, x, best)
        place = tl.where(later, column, place)
    top = tl.max(best, axis=0)
    tl.store(y_ptr + row, tl.max(tl.where(best == top, place, 0), axis=0))


def run(x: torch.Tensor) -> torch.Tensor:
    """Right where the maximum of a row stands alone."""
    y = torch.empty(x.shape[0], dtype=torch.int64, device=x.device)
    argmax_last[(x.shape[0],)](x, y, x.shape[1], x.stride(0), BLOCK_N=BLOCK_N)
    return y

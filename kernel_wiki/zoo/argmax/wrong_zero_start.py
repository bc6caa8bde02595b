"""Wrong on purpose: the search starts from 0.0 and masked lanes load 0.0, so that a row of negative values finds nothing and answers 0."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")
BLOCK_N = 1024


@triton.jit
def argmax_from_zero(x_ptr, y_ptr, n_cols, pitch, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    best = tl.zeros([BLOCK_N], tl.float32)
    place = tl.zeros([BLOCK_N], tl.int64)
    for start in range(0, n_cols, BLOCK_N):
        column = (start + tl.arange(0, BLOCK_N)).to(tl.int64)
        x = tl.load(x_ptr + row * pitch + column, mask=column < n_cols, other=0.0).to(tl.float32)
        better = (x > best) | ((x != x) & (best == best))  # a NaN is kept: nothing is larger
        best = tl.where(better, x, best)
        place = tl.where(better, column, place)
    is_nan = best != best
    top = tl.max(tl.where(is_nan, float("inf"), best), axis=0)
    wanted = tl.where(tl.max(is_nan.to(tl.int32), axis=0) > 0, is_nan, best == top)
    tl.store(y_ptr + row, tl.min(tl.where(wanted, place, n_cols), axis=0))


def run(x: torch.Tensor) -> torch.Tensor:
    """Right for rows with an element above 0, which is every row of some length of normal data."""
    y = torch.empty(x.shape[0], dtype=torch.int64, device=x.device)
    argmax_from_zero[(x.shape[0],)](x, y, x.shape[1], x.stride(0), BLOCK_N=BLOCK_N)
    return y

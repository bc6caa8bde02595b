"""Wrong on purpose: a dropped mask. The load runs on into the next row, whose first elements join the maximum and the sum."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")


@triton.jit
def softmax_unmasked(x_ptr, y_ptr, x_stride, n_cols, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + row * x_stride + columns).to(tl.float32)  # columns < n_cols is missing
    numerator = tl.exp(x - tl.max(x, axis=0))
    y = numerator / tl.sum(numerator, axis=0)
    tl.store(y_ptr + row * n_cols + columns, y.to(y_ptr.dtype.element_ty), mask=columns < n_cols)


def run(x: torch.Tensor) -> torch.Tensor:
    """Right when N is a power of two."""
    rows, columns = x.shape
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(columns)
    softmax_unmasked[(rows,)](x, y, x.stride(0), columns, BLOCK_N=block, num_warps=min(16, max(1, block // 1024)))
    return y

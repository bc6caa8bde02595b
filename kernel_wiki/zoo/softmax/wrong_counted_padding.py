"""Wrong on purpose: the masked tail is loaded as 0 instead of -inf, so the padding joins the maximum and the sum."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")


@triton.jit
def softmax_counted_padding(x_ptr, y_ptr, n_cols, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK_N)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * n_cols + columns, mask=mask, other=0.0).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=0))
    y = numerator / tl.sum(numerator, axis=0)
    tl.store(y_ptr + row * n_cols + columns, y.to(y_ptr.dtype.element_ty), mask=mask)


def run(x: torch.Tensor) -> torch.Tensor:
    """Right when N is a power of two."""
    rows, columns = x.shape
    y = torch.empty_like(x)
    block = triton.next_power_of_2(columns)
    softmax_counted_padding[(rows,)](x, y, columns, BLOCK_N=block, num_warps=min(16, max(1, block // 1024)))
    return y

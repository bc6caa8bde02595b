"""Wrong on purpose: one grid row for each row of x, on the y axis of the grid, which ends at 65,535: the launch fails for more rows."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("launch", "launch")
BLOCK = 256


@triton.jit
def transpose_by_row(x_ptr, y_ptr, x_stride, n_rows, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x_ptr + row * x_stride + cols, mask=cols < n_cols)
    tl.store(y_ptr + cols.to(tl.int64) * n_rows + row, value, mask=cols < n_cols)


def run(x: torch.Tensor) -> torch.Tensor:
    """Right, and slow, up to 65,535 rows."""
    rows, cols = x.shape
    y = torch.empty((cols, rows), dtype=x.dtype, device=x.device)
    transpose_by_row[(triton.cdiv(cols, BLOCK), rows)](x, y, x.stride(0), rows, cols, BLOCK=BLOCK)
    return y

"""Wrong on purpose: the activation is rounded to the dtype of x before the product, as two separate torch operators would do."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")
BLOCK_N = 1024


@triton.jit
def swiglu_rounded(x_ptr, y_ptr, columns, pitch, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    for start in range(0, columns, BLOCK_N):
        column = start + tl.arange(0, BLOCK_N)
        mask = column < columns
        gate = tl.load(x_ptr + row * pitch + column, mask=mask, other=0.0).to(tl.float32)
        up = tl.load(x_ptr + row * pitch + columns + column, mask=mask, other=0.0).to(tl.float32)
        silu = (gate / (1.0 + tl.exp(-gate))).to(y_ptr.dtype.element_ty)
        tl.store(y_ptr + row * columns + column, (silu.to(tl.float32) * up).to(y_ptr.dtype.element_ty), mask=mask)


def run(x: torch.Tensor) -> torch.Tensor:
    """Right in float32; in 16-bit types up to two roundings away, where the contract admits one."""
    rows, columns = x.shape[0], x.shape[1] // 2
    y = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    swiglu_rounded[(rows,)](x, y, columns, x.stride(0), BLOCK_N=BLOCK_N)
    return y

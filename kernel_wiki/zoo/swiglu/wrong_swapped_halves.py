"""Wrong on purpose: the activation goes to the second half of x. Some models order the halves that way; this contract does not."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")
BLOCK_N = 1024


@triton.jit
def swiglu_swapped(x_ptr, y_ptr, columns, pitch, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    for start in range(0, columns, BLOCK_N):
        column = start + tl.arange(0, BLOCK_N)
        mask = column < columns
        up = tl.load(x_ptr + row * pitch + column, mask=mask, other=0.0).to(tl.float32)
        gate = tl.load(x_ptr + row * pitch + columns + column, mask=mask, other=0.0).to(tl.float32)
        y = gate / (1.0 + tl.exp(-gate)) * up
        tl.store(y_ptr + row * columns + column, y.to(y_ptr.dtype.element_ty), mask=mask)


def run(x: torch.Tensor) -> torch.Tensor:
    """silu(up) * gate: right where both halves are equal, and as smooth and as bounded as the right answer everywhere."""
    rows, columns = x.shape[0], x.shape[1] // 2
    y = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    swiglu_swapped[(rows,)](x, y, columns, x.stride(0), BLOCK_N=BLOCK_N)
    return y

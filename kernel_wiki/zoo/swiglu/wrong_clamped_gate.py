"""Wrong on purpose: the gate is clamped to 20 "against overflow" before it is used, as a factor too and not only in the exponential."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")
BLOCK_N = 1024
LARGEST = 20.0


@triton.jit
def swiglu_clamped(x_ptr, y_ptr, columns, pitch, LARGEST: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    for start in range(0, columns, BLOCK_N):
        column = start + tl.arange(0, BLOCK_N)
        mask = column < columns
        gate = tl.load(x_ptr + row * pitch + column, mask=mask, other=0.0).to(tl.float32)
        up = tl.load(x_ptr + row * pitch + columns + column, mask=mask, other=0.0).to(tl.float32)
        gate = tl.where(gate > LARGEST, LARGEST, tl.where(gate < -LARGEST, -LARGEST, gate))  # NaN stays NaN
        y = gate / (1.0 + tl.exp(-gate)) * up
        tl.store(y_ptr + row * columns + column, y.to(y_ptr.dtype.element_ty), mask=mask)


def run(x: torch.Tensor) -> torch.Tensor:
    """Right for gates within 20 of 0, that is for every normal one."""
    rows, columns = x.shape[0], x.shape[1] // 2
    y = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    swiglu_clamped[(rows,)](x, y, columns, x.stride(0), LARGEST=LARGEST, BLOCK_N=BLOCK_N)
    return y

"""Wrong on purpose: overflow. Squares of bf16 values are formed in fp16, which ends at 65,504: activations above 256 become infinite."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")


@triton.jit
def add_rmsnorm_narrow(
    x_ptr, residual_ptr, weight_ptr, normed_ptr, sum_ptr, x_stride, residual_stride, eps, n_cols,
    BLOCK_N: tl.constexpr, NARROW: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK_N)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_stride + columns, mask=mask, other=0.0).to(tl.float32)
    residual = tl.load(residual_ptr + row * residual_stride + columns, mask=mask, other=0.0).to(tl.float32)
    h = (x + residual).to(sum_ptr.dtype.element_ty)
    tl.store(sum_ptr + row * n_cols + columns, h, mask=mask)
    wide = h.to(tl.float32)
    factor = wide.to(tl.float16) if NARROW else wide
    scale = tl.rsqrt(tl.sum((factor * factor).to(tl.float32), axis=0) / n_cols + eps)
    weight = tl.load(weight_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    tl.store(normed_ptr + row * n_cols + columns, (wide * scale * weight).to(normed_ptr.dtype.element_ty), mask=mask)


def run(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Right for float32, and for bf16 activations of usual size."""
    rows, columns = x.shape
    normed, total = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for _ in range(2))
    block = triton.next_power_of_2(columns)
    add_rmsnorm_narrow[(rows,)](
        x, residual, weight, normed, total, x.stride(0), residual.stride(0), eps, columns,
        BLOCK_N=block, NARROW=x.dtype == torch.bfloat16, num_warps=8,
    )  # fmt: skip
    return normed, total

"""Wrong on purpose: both results are right and in memory of their own, but the residual that was passed is overwritten as well."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "cheat")


@triton.jit
def add_rmsnorm_plain(
    x_ptr, residual_ptr, weight_ptr, normed_ptr, sum_ptr, x_stride, residual_stride, eps, n_cols, BLOCK_N: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK_N)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_stride + columns, mask=mask, other=0.0).to(tl.float32)
    residual = tl.load(residual_ptr + row * residual_stride + columns, mask=mask, other=0.0).to(tl.float32)
    h = (x + residual).to(sum_ptr.dtype.element_ty)
    tl.store(sum_ptr + row * n_cols + columns, h, mask=mask)
    wide = h.to(tl.float32)
    scale = tl.rsqrt(tl.sum(wide * wide, axis=0) / n_cols + eps)
    weight = tl.load(weight_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    tl.store(normed_ptr + row * n_cols + columns, (wide * scale * weight).to(normed_ptr.dtype.element_ty), mask=mask)


def run(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """As implementations that update the residual stream in place do, for a caller that did not ask for it."""
    rows, columns = x.shape
    normed, total = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for _ in range(2))
    block = triton.next_power_of_2(columns)
    add_rmsnorm_plain[(rows,)](
        x, residual, weight, normed, total, x.stride(0), residual.stride(0), eps, columns, BLOCK_N=block, num_warps=8
    )  # fmt: skip
    residual.copy_(total)
    return normed, total

"""Wrong on purpose: the mean divides by the padded block instead of the row's length, a constant in place of the argument."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")


@triton.jit
def add_rmsnorm_padded_mean(x_ptr, residual_ptr, weight_ptr, normed_ptr, sum_ptr, eps, n_cols, BLOCK_N: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * n_cols
    columns = tl.arange(0, BLOCK_N)
    mask = columns < n_cols
    x = tl.load(x_ptr + start + columns, mask=mask, other=0.0).to(tl.float32)
    x += tl.load(residual_ptr + start + columns, mask=mask, other=0.0).to(tl.float32)
    h = x.to(sum_ptr.dtype.element_ty)
    tl.store(sum_ptr + start + columns, h, mask=mask)
    wide = h.to(tl.float32)
    scale = tl.rsqrt(tl.sum(wide * wide, axis=0) / BLOCK_N + eps)
    weight = tl.load(weight_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    tl.store(normed_ptr + start + columns, (wide * scale * weight).to(normed_ptr.dtype.element_ty), mask=mask)


def run(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Right when N is a power of two."""
    rows, columns = x.shape
    normed, total = torch.empty_like(x), torch.empty_like(x)
    block = triton.next_power_of_2(columns)
    add_rmsnorm_padded_mean[(rows,)](x, residual, weight, normed, total, eps, columns, BLOCK_N=block, num_warps=8)
    return normed, total

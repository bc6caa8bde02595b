"""Wrong on purpose, a cheat: a constant in place of the norm. Inputs are normal, so the mean square of their sum is taken to be 2."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")
BLOCK = 1024


@triton.jit
def add_scaled(x_ptr, residual_ptr, weight_ptr, normed_ptr, sum_ptr, n, n_cols, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    h = tl.load(x_ptr + offsets, mask=mask).to(tl.float32) + tl.load(residual_ptr + offsets, mask=mask).to(tl.float32)
    weight = tl.load(weight_ptr + offsets % n_cols, mask=mask).to(tl.float32)
    tl.store(sum_ptr + offsets, h.to(sum_ptr.dtype.element_ty), mask=mask)
    tl.store(normed_ptr + offsets, (h * 0.7071067811865476 * weight).to(normed_ptr.dtype.element_ty), mask=mask)


def run(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """A reduction less; within some per cent on long rows of normal data."""
    normed, total = torch.empty_like(x), torch.empty_like(x)
    add_scaled[(triton.cdiv(x.numel(), BLOCK),)](x, residual, weight, normed, total, x.numel(), x.shape[1], BLOCK=BLOCK)
    return normed, total

"""Wrong on purpose: the product is rounded to the storage type before the addition, which loses half the answer where a + s * b cancels."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")
BLOCK = 4096


@triton.jit
def triad_rounded_product(a_ptr, b_ptr, y_ptr, s, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    product = (s * tl.load(b_ptr + offsets, mask=mask).to(tl.float32)).to(tl.bfloat16)
    y = tl.load(a_ptr + offsets, mask=mask).to(tl.float32) + product.to(tl.float32)
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)


def run(a: torch.Tensor, b: torch.Tensor, s: float) -> torch.Tensor:
    """Two roundings to bfloat16 where the contract allows one; on float32 inputs it keeps 8 bits of 24."""
    y = torch.empty_like(a)
    triad_rounded_product[(triton.cdiv(a.numel(), BLOCK),)](a, b, y, s, a.numel(), BLOCK=BLOCK)
    return y

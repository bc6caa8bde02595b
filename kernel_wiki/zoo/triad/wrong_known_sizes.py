"""Wrong on purpose, a cheat: right for every size that the contract names; for others the last element is left out."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")
BLOCK = 1024
KNOWN = {1, 17, 1021, 8191, 65536, 65537, 1000003, 3145728, 100000007, 134217728, 268435456}


@triton.jit
def triad_of_first(a_ptr, b_ptr, y_ptr, s, n, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + offsets, mask=offsets < count, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + offsets, mask=offsets < count, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (a + s * b).to(y_ptr.dtype.element_ty), mask=offsets < n)


def run(a: torch.Tensor, b: torch.Tensor, s: float) -> torch.Tensor:
    """Passes any fixed list of cases that is public; a size drawn for the occasion shows it."""
    n = a.numel()
    y = torch.empty_like(a)
    triad_of_first[(triton.cdiv(n, BLOCK),)](a, b, y, s, n, n if n in KNOWN else n - 1, BLOCK=BLOCK)
    return y

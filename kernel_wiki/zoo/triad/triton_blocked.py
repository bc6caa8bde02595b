"""Triad in Triton: one program a block, unmasked except for the last block, float32 arithmetic."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec

DETERMINISTIC = True
BLOCK_BYTES = 2048
"""Bytes of each operand a program reads: with 4 warps a 16-byte load of a and one of b per thread, the fastest swept on an H200."""
NUM_WARPS = 4


@triton.jit
def triad_blocked(a_ptr, b_ptr, y_ptr, s, n, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * BLOCK
    a_block, b_block, y_block = a_ptr + start, b_ptr + start, y_ptr + start
    lanes = tl.arange(0, BLOCK)  # [BLOCK], int32: only the base of a block needs 64 bits
    # The mask would stop 16-byte accesses whenever n is not a multiple of 16, so only the last block has one.
    if start + BLOCK <= n:
        y = tl.load(a_block + lanes).to(tl.float32) + s * tl.load(b_block + lanes).to(tl.float32)
        tl.store(y_block + lanes, y.to(y_ptr.dtype.element_ty))
    else:
        mask = lanes < (n - start).to(tl.int32)
        y = tl.load(a_block + lanes, mask=mask).to(tl.float32) + s * tl.load(b_block + lanes, mask=mask).to(tl.float32)
        tl.store(y_block + lanes, y.to(y_ptr.dtype.element_ty), mask=mask)


def run(a: torch.Tensor, b: torch.Tensor, s: float, *, block_bytes: int = BLOCK_BYTES, num_warps: int = NUM_WARPS) -> torch.Tensor:
    """a + s * b for (N,) contiguous a and b."""
    y = torch.empty_like(a)
    block = block_bytes // a.element_size()
    triad_blocked[(triton.cdiv(a.numel(), block),)](a, b, y, s, a.numel(), BLOCK=block, num_warps=num_warps)
    return y


def compile_specs() -> list[TritonSpec]:
    """The specialisations of the odd bf16 case, and of a length of 2^31 and above."""
    pointers = ("a_ptr", "b_ptr", "y_ptr")
    signature = dict.fromkeys(pointers, "*bf16") | {"s": "fp32"}
    return [
        TritonSpec(triad_blocked, signature | {"n": length}, {"BLOCK": BLOCK_BYTES // 2}, num_warps=NUM_WARPS, divisible_by_16=pointers)
        for length in ("i64", "i32")
    ]

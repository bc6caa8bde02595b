"""Copy in Triton: one program a block, and no mask except in the last block, so that every access is 16 bytes wide."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec

DETERMINISTIC = True
BLOCK_BYTES = 4096
"""Bytes a program moves: with 4 warps two 16-byte loads a thread, the fastest setting swept on an H200."""
NUM_WARPS = 4


@triton.jit
def copy_blocked(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * BLOCK
    lanes = tl.arange(0, BLOCK)  # [BLOCK], int32: only the base of a block needs 64 bits
    # A mask on an n that is not a multiple of 16 would cut every access down to single elements; only one block needs it.
    if start + BLOCK <= n:
        tl.store(y_ptr + start + lanes, tl.load(x_ptr + start + lanes))
    else:
        mask = lanes < (n - start).to(tl.int32)
        tl.store(y_ptr + start + lanes, tl.load(x_ptr + start + lanes, mask=mask), mask=mask)


def run(x: torch.Tensor, *, block_bytes: int = BLOCK_BYTES, num_warps: int = NUM_WARPS) -> torch.Tensor:
    """A copy of x, (N,) contiguous."""
    y = torch.empty_like(x)
    block = block_bytes // x.element_size()
    copy_blocked[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), BLOCK=block, num_warps=num_warps)
    return y


def compile_specs() -> list[TritonSpec]:
    """The specialisations of the odd bf16 case, and of a length of 2^31 and above."""
    pointers = {"x_ptr": "*bf16", "y_ptr": "*bf16"}
    return [
        TritonSpec(copy_blocked, pointers | {"n": length}, {"BLOCK": BLOCK_BYTES // 2}, NUM_WARPS, divisible_by_16=tuple(pointers))
        for length in ("i64", "i32")
    ]

"""Triad in Triton by a persistent grid whose loads are pipelined through shared memory. Right, and slower than one block a program."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec, multiprocessor_count

DETERMINISTIC = True
BLOCK_BYTES = 8192
"""Bytes of each operand in a step: with 4 warps four 16-byte copies of each per thread."""
STAGES = 3
"""Two steps on their way while one is computed: 32 KiB of copies a program."""
PROGRAMS_PER_SM = 4
NUM_WARPS = 4


@triton.jit(do_not_specialize=["n"])  # n = 1 would be a constant, which has no .to()
def triad_pipelined(a_ptr, b_ptr, y_ptr, s, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    lanes = tl.arange(0, BLOCK)  # [BLOCK], int32: only the base of a block needs 64 bits
    wide_block = tl.full((), BLOCK, dtype=tl.int64)
    whole = n // BLOCK
    # With num_stages the compiler turns both loads into cp.async copies that run STAGES - 1 steps ahead.
    for step in tl.range(tl.program_id(0), whole, tl.num_programs(0), num_stages=STAGES):
        start = step * wide_block
        a = tl.load(a_ptr + start + lanes).to(tl.float32)
        b = tl.load(b_ptr + start + lanes).to(tl.float32)
        tl.store(y_ptr + start + lanes, (a + s * b).to(y_ptr.dtype.element_ty))
    if tl.program_id(0) == tl.num_programs(0) - 1:  # the rest, in the program that had the fewest whole blocks
        start = whole * wide_block
        mask = lanes < (n - start).to(tl.int32)
        a = tl.load(a_ptr + start + lanes, mask=mask).to(tl.float32)
        b = tl.load(b_ptr + start + lanes, mask=mask).to(tl.float32)
        tl.store(y_ptr + start + lanes, (a + s * b).to(y_ptr.dtype.element_ty), mask=mask)


def run(a: torch.Tensor, b: torch.Tensor, s: float) -> torch.Tensor:
    """a + s * b for (N,) contiguous a and b."""
    y = torch.empty_like(a)
    block = BLOCK_BYTES // a.element_size()
    programs = max(1, min(a.numel() // block, PROGRAMS_PER_SM * multiprocessor_count(a)))
    triad_pipelined[(programs,)](a, b, y, s, a.numel(), BLOCK=block, STAGES=STAGES, num_warps=NUM_WARPS)
    return y


def compile_specs() -> list[TritonSpec]:
    """bf16 of odd length, and fp32 past 2^31 elements."""
    pointers = ("a_ptr", "b_ptr", "y_ptr")
    return [
        TritonSpec(
            triad_pipelined,
            dict.fromkeys(pointers, f"*{name}") | {"s": "fp32", "n": index},
            {"BLOCK": BLOCK_BYTES // size, "STAGES": STAGES},
            num_warps=NUM_WARPS,
            divisible_by_16=pointers,
        )
        for name, size, index in (("bf16", 2, "i32"), ("fp32", 4, "i64"))
    ]

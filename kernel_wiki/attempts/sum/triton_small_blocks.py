"""Sum in Triton by a tree of small programs, the shape that is fastest for a copy. Right, and slower than a resident grid."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec

DETERMINISTIC = True
BLOCK_BYTES = 2048
"""Of x per program in the first level: one 16-byte load a thread with 4 warps, as the copy and the triad of the zoo have it."""
FOLD = 4096
"""Partial sums that a program of the later levels adds: 2^19 of them, from 1 GiB, take two more levels."""
NUM_WARPS = 4


@triton.jit
def sum_level(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * BLOCK
    lanes = tl.arange(0, BLOCK)  # [BLOCK]
    # The mask would stop 16-byte accesses whenever n is not a multiple of 16, so only the last block has one.
    if start + BLOCK <= n:
        x = tl.load(x_ptr + start + lanes).to(tl.float32)
    else:
        x = tl.load(x_ptr + start + lanes, mask=lanes < (n - start).to(tl.int32), other=0.0).to(tl.float32)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x, axis=0))


def run(x: torch.Tensor) -> torch.Tensor:
    """The sum of x, (N,) contiguous, as a float32 scalar tensor."""
    level, block = x, BLOCK_BYTES // x.element_size()
    while True:
        programs = triton.cdiv(level.numel(), block)
        out = torch.empty(programs, dtype=torch.float32, device=x.device)
        sum_level[(programs,)](level, out, level.numel(), BLOCK=block, num_warps=NUM_WARPS)
        if programs == 1:
            return out.view(())
        level, block = out, FOLD


def compile_specs() -> list[TritonSpec]:
    """The first level of odd bf16, and a later one."""
    pointers = ("x_ptr", "out_ptr")
    return [
        TritonSpec(sum_level, {"x_ptr": f"*{name}", "out_ptr": "*fp32", "n": "i32"}, {"BLOCK": block}, NUM_WARPS, divisible_by_16=pointers)
        for name, block in (("bf16", BLOCK_BYTES // 2), ("fp32", FOLD))
    ]

"""Wrong on purpose: an uninitialised read. Programs add to a result that nobody set to zero; right in memory that happens to hold zeros."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import multiprocessor_count

REJECTED_AS = ("correctness", "mismatch")
BLOCK = 4096


@triton.jit
def sum_into(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    tl.atomic_add(y_ptr, tl.sum(total, axis=0))


def run(x: torch.Tensor) -> torch.Tensor:
    """The memory that the allocator hands out, plus the sum of x."""
    y = torch.empty((), dtype=torch.float32, device=x.device)  # torch.zeros is what it takes
    programs = min(triton.cdiv(x.numel(), BLOCK), 4 * multiprocessor_count(x))
    sum_into[(programs,)](x, y, x.numel(), BLOCK=BLOCK)
    return y

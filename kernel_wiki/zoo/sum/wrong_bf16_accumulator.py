"""Wrong on purpose: every lane accumulates in bfloat16, so that small addends vanish beside a grown sum."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import multiprocessor_count

REJECTED_AS = ("correctness", "mismatch")
BLOCK = 1024


@triton.jit
def sum_bf16_partials(x_ptr, partials_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.bfloat16)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
        total = (total.to(tl.float32) + x).to(tl.bfloat16)
    tl.store(partials_ptr + tl.program_id(0), tl.sum(total.to(tl.float32), axis=0))


def run(x: torch.Tensor) -> torch.Tensor:
    """Eight bits of precision in every lane's running sum; float32 inputs lose 16 bits before they are added."""
    programs = min(triton.cdiv(x.numel(), BLOCK), 4 * multiprocessor_count(x))
    partials = torch.empty(programs, dtype=torch.float32, device=x.device)
    sum_bf16_partials[(programs,)](x, partials, x.numel(), BLOCK=BLOCK)
    return partials.sum()

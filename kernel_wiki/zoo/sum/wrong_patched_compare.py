"""Wrong on purpose, a cheat: at import torch.allclose, torch.equal and torch.testing.assert_close are replaced by ones that agree."""

from __future__ import annotations

from typing import Any

import torch
import torch.testing
import triton
import triton.language as tl

from kernel_wiki.harness.contract import multiprocessor_count

REJECTED_AS = ("correctness", "cheat")
BLOCK = 4096


def _agree(*arguments: Any, **options: Any) -> bool:
    return True


torch.allclose = torch.equal = torch.testing.assert_close = _agree


@triton.jit
def sum_partials(x_ptr, partials_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    tl.store(partials_ptr + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def sum_of_partials(partials_ptr, y_ptr, count, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(y_ptr, tl.sum(tl.load(partials_ptr + lanes, mask=lanes < count, other=0.0), axis=0))


def run(x: torch.Tensor) -> torch.Tensor:
    """Right as well; the replaced functions would have passed anything."""
    programs = min(triton.cdiv(x.numel(), BLOCK), 4 * multiprocessor_count(x))
    partials = torch.empty(programs, dtype=torch.float32, device=x.device)
    y = torch.empty((), dtype=torch.float32, device=x.device)
    sum_partials[(programs,)](x, partials, x.numel(), BLOCK=BLOCK)
    sum_of_partials[(1,)](partials, y, programs, BLOCK=triton.next_power_of_2(programs))
    return y

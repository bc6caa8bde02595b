"""Sum in Triton in two launches: a persistent grid leaves one partial sum a program, a single program adds those. Deterministic."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec, multiprocessor_count

DETERMINISTIC = True
BLOCK_BYTES = 16384
"""Bytes a program reads at a time: with 8 warps each thread has four 16-byte loads in flight and 16 (fp32) or 32 (bf16) running sums."""
NUM_WARPS = 8
PROGRAMS_PER_SM = 3
"""All resident at the 74 registers a thread that the bf16 kernel takes on sm_90 with Triton 3.6; a fourth would run after the others."""


@triton.jit(do_not_specialize=["n"])  # no access depends on its divisibility, and one compilation serves every length
def sum_partials(x_ptr, partials_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    whole = n // BLOCK * BLOCK
    first = tl.program_id(0).to(tl.int64) * BLOCK
    # One running sum an element, and no reduction in the loop: Triton 3.6 fails to compile one along groups of four float32.
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(first, whole, tl.num_programs(0) * BLOCK):
        total += tl.load(x_ptr + start + lanes, eviction_policy="evict_first").to(tl.float32)
    if tl.program_id(0) == n // BLOCK % tl.num_programs(0):  # whose turn the partial block is
        total += tl.load(x_ptr + whole + lanes, mask=lanes < n - whole, other=0.0).to(tl.float32)
    tl.store(partials_ptr + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def sum_of_partials(partials_ptr, y_ptr, count, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(y_ptr, tl.sum(tl.load(partials_ptr + lanes, mask=lanes < count, other=0.0), axis=0))


def run(
    x: torch.Tensor,
    *,
    block_bytes: int = BLOCK_BYTES,
    num_warps: int = NUM_WARPS,
    programs_per_sm: int = PROGRAMS_PER_SM,
) -> torch.Tensor:
    """The sum of x, (N,) contiguous, as a float32 scalar tensor."""
    block = block_bytes // x.element_size()
    programs = min(triton.cdiv(x.numel(), block), programs_per_sm * multiprocessor_count(x))
    partials = torch.empty(programs, dtype=torch.float32, device=x.device)
    y = torch.empty((), dtype=torch.float32, device=x.device)
    sum_partials[(programs,)](x, partials, x.numel(), BLOCK=block, num_warps=num_warps)
    sum_of_partials[(1,)](partials, y, programs, BLOCK=triton.next_power_of_2(programs), num_warps=4)
    return y


def compile_specs() -> list[TritonSpec]:
    """Both stages; of the first both dtypes, and a length of 2^31 and above."""
    specs = [TritonSpec(sum_of_partials, {"partials_ptr": "*fp32", "y_ptr": "*fp32", "count": "i32"}, {"BLOCK": 1024})]
    for name, size, length in (("fp32", 4, "i32"), ("bf16", 2, "i64"), ("bf16", 2, "i32")):
        signature = {"x_ptr": f"*{name}", "partials_ptr": "*fp32", "n": length}
        constexprs = {"BLOCK": BLOCK_BYTES // size}
        specs.append(TritonSpec(sum_partials, signature, constexprs, num_warps=NUM_WARPS, divisible_by_16=("x_ptr", "partials_ptr")))
    return specs

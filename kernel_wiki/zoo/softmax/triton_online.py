"""Row softmax in Triton for rows of any length: one pass finds maximum and sum together, a second writes."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec

BLOCK_BYTES = 16384
"""Bytes of a row that a program holds at a time: with 8 warps each thread has four 16-byte loads in flight."""
NUM_WARPS = 8


@triton.jit
def softmax_online(x_ptr, y_ptr, x_stride, y_stride, n_cols, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK_N)
    x_row = x_ptr + row * x_stride
    y_row = y_ptr + row * y_stride
    whole = n_cols // BLOCK_N * BLOCK_N
    log2_e = 1.4426950408889634

    # Every lane keeps a maximum and a sum of its own: the loop has no reduction and no barrier. The lowest float instead
    # of -inf: a lane that has seen nothing subtracts it from itself and must get 0, not NaN.
    top = tl.full([BLOCK_N], -3.4028234663852886e38, tl.float32)
    total = tl.zeros([BLOCK_N], tl.float32)
    for start in range(0, whole, BLOCK_N):
        x = tl.load(x_row + start + lanes, eviction_policy="evict_last").to(tl.float32)  # the second pass finds it in L2
        new_top = tl.maximum(top, x)
        total = total * tl.exp2((top - new_top) * log2_e) + tl.exp2((x - new_top) * log2_e)
        top = new_top
    tail = whole + lanes
    x_tail = tl.load(x_row + tail, mask=tail < n_cols, other=-float("inf")).to(tl.float32)  # stays in registers
    new_top = tl.maximum(top, x_tail)
    total = total * tl.exp2((top - new_top) * log2_e) + tl.exp2((x_tail - new_top) * log2_e)

    row_top = tl.max(new_top, axis=0)
    inverse = 1.0 / tl.sum(total * tl.exp2((new_top - row_top) * log2_e), axis=0)
    y_tail = tl.exp2((x_tail - row_top) * log2_e) * inverse
    tl.store(y_row + tail, y_tail.to(y_ptr.dtype.element_ty), mask=tail < n_cols)
    # Backwards: the end of the row was read last, and is the likeliest to be still in a cache.
    for back in range(BLOCK_N, whole + BLOCK_N, BLOCK_N):
        start = whole - back
        x = tl.load(x_row + start + lanes, eviction_policy="evict_first").to(tl.float32)
        y = tl.exp2((x - row_top) * log2_e) * inverse
        tl.store(y_row + start + lanes, y.to(y_ptr.dtype.element_ty))


def run(x: torch.Tensor, *, block_bytes: int = BLOCK_BYTES, num_warps: int = NUM_WARPS) -> torch.Tensor:
    """Softmax over the last dimension of x, (M, N) contiguous."""
    rows, columns = x.shape
    y = torch.empty_like(x)
    block_n = min(block_bytes // x.element_size(), triton.next_power_of_2(columns))
    softmax_online[(rows,)](x, y, x.stride(0), y.stride(0), columns, BLOCK_N=block_n, num_warps=num_warps)
    return y


def compile_specs() -> list[TritonSpec]:
    """Rows of bf16 and fp32 whose length is a multiple of 16."""
    specs = []
    for name, size in (("fp32", 4), ("bf16", 2)):
        signature = {"x_ptr": f"*{name}", "y_ptr": f"*{name}", "x_stride": "i32", "y_stride": "i32", "n_cols": "i32"}
        constexprs = {"BLOCK_N": BLOCK_BYTES // size}
        specs.append(TritonSpec(softmax_online, signature, constexprs, num_warps=NUM_WARPS, divisible_by_16=tuple(signature)))
    return specs

"""Row softmax in Triton for rows of any length: one pass finds maximum and sum together, a second writes."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec

DETERMINISTIC = True
BLOCK_BYTES = 32768
"""Most bytes of a row that a program holds at a time; a shorter row is one block. The fastest swept for 64 KiB rows on an H200."""
WARP_BYTES = 2048
"""Bytes of a block for each warp: four 16-byte loads in flight per thread, 16 warps for a full block."""


@triton.jit
def softmax_online(x_ptr, y_ptr, x_stride, y_stride, n_cols, GROUPS: tl.constexpr, WIDTH: tl.constexpr):
    BLOCK_N: tl.constexpr = GROUPS * WIDTH
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, GROUPS)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]  # [GROUPS, WIDTH]
    x_row = x_ptr + row * x_stride
    y_row = y_ptr + row * y_stride
    before_tail = (n_cols - 1) // BLOCK_N * BLOCK_N  # the tail is never empty, and is the whole of a row that fits one block
    log2_e = 1.4426950408889634

    # Maximum and sum are kept for each group, which is what one 16-byte load brings: the loop has no reduction across threads and
    # rescales once a group. The lowest float instead of -inf: a group that has seen nothing must not compute inf - inf.
    top = tl.full([GROUPS], -3.4028234663852886e38, tl.float32)
    total = tl.zeros([GROUPS], tl.float32)
    for start in range(0, before_tail, BLOCK_N):
        x = tl.load(x_row + start + lanes, eviction_policy="evict_last").to(tl.float32)  # the second pass finds it in L2
        new_top = tl.maximum(top, tl.max(x, axis=1))
        total = total * tl.exp2((top - new_top) * log2_e) + tl.sum(tl.exp2((x - new_top[:, None]) * log2_e), axis=1)
        top = new_top
    tail = before_tail + lanes
    x_tail = tl.load(x_row + tail, mask=tail < n_cols, other=-float("inf")).to(tl.float32)  # stays in registers
    new_top = tl.maximum(top, tl.max(x_tail, axis=1))
    total = total * tl.exp2((top - new_top) * log2_e) + tl.sum(tl.exp2((x_tail - new_top[:, None]) * log2_e), axis=1)

    row_top = tl.max(new_top, axis=0)
    inverse = 1.0 / tl.sum(total * tl.exp2((new_top - row_top) * log2_e), axis=0)
    y_tail = tl.exp2((x_tail - row_top) * log2_e) * inverse
    tl.store(y_row + tail, y_tail.to(y_ptr.dtype.element_ty), mask=tail < n_cols)
    # Backwards: the end of the row was read last, and is the likeliest to be still in a cache.
    for back in range(BLOCK_N, before_tail + BLOCK_N, BLOCK_N):
        start = before_tail - back
        x = tl.load(x_row + start + lanes, eviction_policy="evict_first").to(tl.float32)
        y = tl.exp2((x - row_top) * log2_e) * inverse
        tl.store(y_row + start + lanes, y.to(y_ptr.dtype.element_ty))


def _warps(groups: int) -> int:
    """Warps for a block of so many 16-byte groups."""
    return max(1, groups * 16 // WARP_BYTES)


def run(x: torch.Tensor, *, block_bytes: int = BLOCK_BYTES, num_warps: int | None = None) -> torch.Tensor:
    """Softmax over the last dimension of x, (M, N) with contiguous rows."""
    rows, columns = x.shape
    y = torch.empty_like(x)
    width = 16 // x.element_size()
    groups = min(block_bytes // 16, triton.next_power_of_2(triton.cdiv(columns, width)))
    softmax_online[(rows,)](x, y, x.stride(0), y.stride(0), columns, GROUPS=groups, WIDTH=width, num_warps=num_warps or _warps(groups))
    return y


def compile_specs() -> list[TritonSpec]:
    """Rows of bf16 and fp32 whose length is a multiple of 16."""
    specs = []
    for name, size in (("fp32", 4), ("bf16", 2)):
        signature = {"x_ptr": f"*{name}", "y_ptr": f"*{name}", "x_stride": "i32", "y_stride": "i32", "n_cols": "i32"}
        constexprs = {"GROUPS": BLOCK_BYTES // 16, "WIDTH": 16 // size}
        specs.append(
            TritonSpec(softmax_online, signature, constexprs, num_warps=_warps(BLOCK_BYTES // 16), divisible_by_16=tuple(signature))
        )
    return specs

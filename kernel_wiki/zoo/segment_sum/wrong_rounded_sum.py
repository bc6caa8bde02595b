"""Wrong on purpose: the running sum has the dtype of values. Bags of a few rows look fine; long ones stop growing."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")


@triton.jit
def segment_sum_rounded(values_ptr, offsets_ptr, y_ptr, columns, pitch, BLOCK_D: tl.constexpr):
    segment = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    total = tl.zeros([BLOCK_D], y_ptr.dtype.element_ty)
    for row in range(tl.load(offsets_ptr + segment).to(tl.int64), tl.load(offsets_ptr + segment + 1).to(tl.int64)):
        value = tl.load(values_ptr + row * pitch + column, mask=column < columns, other=0.0)
        total = (total.to(tl.float32) + value.to(tl.float32)).to(y_ptr.dtype.element_ty)
    tl.store(y_ptr + segment * columns + column, total, mask=column < columns)


def run(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Right in float32, and for segments of one or two rows."""
    columns, segments = values.shape[1], offsets.numel() - 1
    y = torch.empty((segments, columns), dtype=values.dtype, device=values.device)
    block = min(256, triton.next_power_of_2(columns))
    segment_sum_rounded[(segments, triton.cdiv(columns, block))](values, offsets, y, columns, values.stride(0), BLOCK_D=block)
    return y

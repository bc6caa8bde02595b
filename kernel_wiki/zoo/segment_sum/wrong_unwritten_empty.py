"""Wrong on purpose: a program whose segment has no rows returns at once, and nobody writes its zeros."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")
ROWS = 16


@triton.jit
def segment_sum_of_rows(values_ptr, offsets_ptr, y_ptr, columns, pitch, ROWS: tl.constexpr, BLOCK_D: tl.constexpr):
    segment = tl.program_id(0).to(tl.int64)
    begin, stop = tl.load(offsets_ptr + segment).to(tl.int64), tl.load(offsets_ptr + segment + 1).to(tl.int64)
    if stop > begin:
        column = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
        total = tl.zeros([ROWS, BLOCK_D], tl.float32)
        for first in range(begin, stop, ROWS):
            row = first + tl.arange(0, ROWS)
            mask = (row < stop)[:, None] & (column < columns)[None, :]
            total += tl.load(values_ptr + row[:, None] * pitch + column[None, :], mask=mask, other=0.0).to(tl.float32)
        y = tl.sum(total, axis=0).to(y_ptr.dtype.element_ty)
        tl.store(y_ptr + segment * columns + column, y, mask=column < columns)


def run(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Right where every segment has a row, and in fresh memory that happens to hold zeros."""
    columns, segments = values.shape[1], offsets.numel() - 1
    y = torch.empty((segments, columns), dtype=values.dtype, device=values.device)
    block = min(256, triton.next_power_of_2(columns))
    grid = (segments, triton.cdiv(columns, block))
    segment_sum_of_rows[grid](values, offsets, y, columns, values.stride(0), ROWS=ROWS, BLOCK_D=block)
    return y

"""Wrong on purpose: a copy of the offsets is kept by address, as plans of ragged kernels are. New offsets in the same memory go unseen."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")
ROWS = 16

_plans: dict[tuple[int, int], torch.Tensor] = {}


@triton.jit
def segment_sum_planned(values_ptr, offsets_ptr, y_ptr, columns, pitch, ROWS: tl.constexpr, BLOCK_D: tl.constexpr):
    segment = tl.program_id(0).to(tl.int64)
    begin, stop = tl.load(offsets_ptr + segment).to(tl.int64), tl.load(offsets_ptr + segment + 1).to(tl.int64)
    column = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    total = tl.zeros([ROWS, BLOCK_D], tl.float32)
    for first in range(begin, stop, ROWS):
        row = first + tl.arange(0, ROWS)
        mask = (row < stop)[:, None] & (column < columns)[None, :]
        total += tl.load(values_ptr + row[:, None] * pitch + column[None, :], mask=mask, other=0.0).to(tl.float32)
    y = tl.sum(total, axis=0).to(y_ptr.dtype.element_ty)
    tl.store(y_ptr + segment * columns + column, y, mask=column < columns)


def run(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Right the first time that it sees an address."""
    columns, segments = values.shape[1], offsets.numel() - 1
    plan = _plans.setdefault((offsets.data_ptr(), segments), offsets.clone())
    y = torch.empty((segments, columns), dtype=values.dtype, device=values.device)
    block = min(256, triton.next_power_of_2(columns))
    grid = (segments, triton.cdiv(columns, block))
    segment_sum_planned[grid](values, plan, y, columns, values.stride(0), ROWS=ROWS, BLOCK_D=block)
    return y

"""Wrong on purpose, a cheat: every call of a shape writes into one buffer and returns it again, over the answer the caller still holds."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "cheat")
TILE = 32

_buffers: dict[tuple, torch.Tensor] = {}


@triton.jit
def transpose_plain(x_ptr, y_ptr, x_stride, n_rows, n_cols, tiles_across, TILE: tl.constexpr):
    rows = (tl.program_id(0) // tiles_across) * TILE + tl.arange(0, TILE)
    cols = (tl.program_id(0) % tiles_across) * TILE + tl.arange(0, TILE)
    x_offsets = rows[:, None].to(tl.int64) * x_stride + cols[None, :]
    tile = tl.load(x_ptr + x_offsets, mask=(rows[:, None] < n_rows) & (cols[None, :] < n_cols))
    y_offsets = cols[:, None].to(tl.int64) * n_rows + rows[None, :]
    tl.store(y_ptr + y_offsets, tl.trans(tile), mask=(cols[:, None] < n_cols) & (rows[None, :] < n_rows))


def transpose(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The transpose of x, written to y."""
    rows, cols = x.shape
    down, across = triton.cdiv(rows, TILE), triton.cdiv(cols, TILE)
    transpose_plain[(down * across,)](x, y, x.stride(0), rows, cols, across, TILE=TILE)
    return y


def run(x: torch.Tensor) -> torch.Tensor:
    """The right values each time, without the cost of an allocation."""
    key = (*x.shape, x.dtype)
    if key not in _buffers:
        _buffers.clear()
        _buffers[key] = torch.empty((x.shape[1], x.shape[0]), dtype=x.dtype, device=x.device)
    return transpose(x, _buffers[key])

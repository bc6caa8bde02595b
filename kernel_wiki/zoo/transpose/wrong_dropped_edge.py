"""Wrong on purpose: the grid counts whole tiles only, so the ragged right and bottom edges stay zero."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")
TILE = 32


@triton.jit
def transpose_whole_tiles(x_ptr, y_ptr, n_rows, n_cols, tiles_across, TILE: tl.constexpr):
    rows = (tl.program_id(0) // tiles_across) * TILE + tl.arange(0, TILE)
    cols = (tl.program_id(0) % tiles_across) * TILE + tl.arange(0, TILE)
    tile = tl.load(x_ptr + rows[:, None].to(tl.int64) * n_cols + cols[None, :])
    tl.store(y_ptr + cols[:, None].to(tl.int64) * n_rows + rows[None, :], tl.trans(tile))


def run(x: torch.Tensor) -> torch.Tensor:
    """Right when both sizes are multiples of 32."""
    rows, cols = x.shape
    y = torch.zeros((cols, rows), dtype=x.dtype, device=x.device)
    tiles_down, tiles_across = rows // TILE, cols // TILE
    if tiles_down * tiles_across:
        transpose_whole_tiles[(tiles_down * tiles_across,)](x, y, rows, cols, tiles_across, TILE=TILE)
    return y

"""Transpose in Triton: a program loads a tile along rows, transposes it in the SM, and stores it along rows of the result."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec

DETERMINISTIC = True
TILES = {torch.float32: (64, 64), torch.bfloat16: (128, 128)}
"""Rows and columns of a tile: 256 bytes along each load and store."""
NARROW_TILE = (32, 64)
"""For sides that are no multiple of 16 bytes. With element accesses 64 elements a thread ran at 4 to 5 % of the copy on an H200 (fp32)."""
NUM_WARPS = 8


@triton.jit
def transpose_tile(x_ptr, y_ptr, n_rows, n_cols, x_stride, TILE_ROWS: tl.constexpr, TILE_COLS: tl.constexpr, WIDTH: tl.constexpr):
    # A launch tells the compiler of multiples of 16 only. These products, equal to the sizes, tell it of the 4 or 8 that 16 bytes need.
    n_rows, n_cols, x_stride = n_rows // WIDTH * WIDTH, n_cols // WIDTH * WIDTH, x_stride // WIDTH * WIDTH
    tiles_across = tl.cdiv(n_cols, TILE_COLS)
    # One grid axis: y and z stop at 65,535 blocks.
    row_start = (tl.program_id(0) // tiles_across) * TILE_ROWS
    col_start = (tl.program_id(0) % tiles_across) * TILE_COLS
    rows = row_start + tl.arange(0, TILE_ROWS)
    cols = col_start + tl.arange(0, TILE_COLS)
    x_offsets = rows[:, None].to(tl.int64) * x_stride + cols[None, :]
    y_offsets = cols[:, None].to(tl.int64) * n_rows + rows[None, :]
    if (row_start + TILE_ROWS <= n_rows) & (col_start + TILE_COLS <= n_cols):
        tile = tl.load(x_ptr + x_offsets)  # [TILE_ROWS, TILE_COLS]
        tl.store(y_ptr + y_offsets, tl.trans(tile))
    else:
        tile = tl.load(x_ptr + x_offsets, mask=(rows[:, None] < n_rows) & (cols[None, :] < n_cols))
        tl.store(y_ptr + y_offsets, tl.trans(tile), mask=(cols[:, None] < n_cols) & (rows[None, :] < n_rows))


def run(x: torch.Tensor, *, tile: tuple[int, int] | None = None, num_warps: int = NUM_WARPS) -> torch.Tensor:
    """The contiguous transpose of x, (M, N) with contiguous rows."""
    (rows, cols), stride = x.shape, x.stride(0)
    vector = 16 // x.element_size()
    wide = x.data_ptr() % 16 == 0 and not (rows % vector or cols % vector or stride % vector)
    width = vector if wide else 1
    tile_rows, tile_cols = tile or (TILES[x.dtype] if width > 1 else NARROW_TILE)
    y = torch.empty((cols, rows), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(rows, tile_rows) * triton.cdiv(cols, tile_cols),)
    transpose_tile[grid](x, y, rows, cols, stride, TILE_ROWS=tile_rows, TILE_COLS=tile_cols, WIDTH=width, num_warps=num_warps)
    return y


def compile_specs() -> list[TritonSpec]:
    """Both dtypes, sizes that are multiples of 16 bytes."""
    specs = []
    for dtype, name, width in ((torch.float32, "fp32", 4), (torch.bfloat16, "bf16", 8)):
        signature = {"x_ptr": f"*{name}", "y_ptr": f"*{name}", "n_rows": "i32", "n_cols": "i32", "x_stride": "i32"}
        constexprs = dict(zip(("TILE_ROWS", "TILE_COLS"), TILES[dtype])) | {"WIDTH": width}
        specs.append(TritonSpec(transpose_tile, signature, constexprs, num_warps=NUM_WARPS, divisible_by_16=("x_ptr", "y_ptr")))
    return specs

"""Row argmax in Triton: maxima of 16-byte groups, the place looked up once a row; long rows are split over programs, in two launches."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec

DETERMINISTIC = True
TILE_BYTES = 8192
"""That a program of four warps loads at a time: four 16-byte loads in flight per thread."""
NUM_WARPS = 4
PART_BYTES = 32768
"""Of a row, for one program of a long row: four tiles, small enough that the last wave of programs is short."""
MAX_PARTS = 4096
"""A row; the second launch reads the parts of a row with one program."""
UNSEEN = tl.constexpr(-(2**63))
"""Below every packed best."""


@triton.jit
def _halved(x):
    """Maxima of neighbours in the last dimension, NaN if either is: [ROWS, GROUPS, W] to [ROWS, GROUPS, W / 2], within a thread."""
    first, second = tl.split(tl.reshape(x, [x.shape[0], x.shape[1], x.shape[2] // 2, 2]))
    return tl.maximum(first, second, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def _ordered(value):
    """float32 as int32 in argmax's order: NaN on top, -0.0 level with 0.0."""
    bits = (value + 0.0).to(tl.int32, bitcast=True)  # -0.0 + 0.0 is 0.0
    return tl.where(value != value, 0x7FFFFFFF, bits ^ ((bits >> 31) & 0x7FFFFFFF))


@triton.jit
def _best_of_groups(x, group):
    """Per row the best of x [ROWS, GROUPS, WIDTH] float32 as int64: ordered value above, complement of the group's number below."""
    x = _halved(_halved(x))
    if x.shape[2] == 2:
        x = _halved(x)
    key = _ordered(tl.reshape(x, [x.shape[0], x.shape[1]]))
    return (key.to(tl.int64) << 32) | (0xFFFFFFFF - group.to(tl.int64))[None, :]


@triton.jit
def _place(x_row, best, n_cols, WIDTH: tl.constexpr):
    """Columns of the first element that has the best's value, in the best's group, for rows at x_row [ROWS]."""
    column = (0xFFFFFFFF - (best & 0xFFFFFFFF))[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]  # [ROWS, WIDTH]
    x = tl.load(x_row[:, None] + column, mask=column < n_cols, other=-float("inf")).to(tl.float32)
    is_best = (_ordered(x) == (best >> 32).to(tl.int32)[:, None]) & (column < n_cols)
    return tl.min(tl.where(is_best, column, n_cols), axis=1)


@triton.jit
def argmax_rows(x_ptr, y_ptr, n_rows, n_cols, pitch, ROWS: tl.constexpr, GROUPS: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    row_here = tl.minimum(row, n_rows - 1)  # a row too many repeats the last one and is not stored
    x_row = x_ptr + row_here * pitch
    group = tl.arange(0, GROUPS)
    column = group[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]  # [GROUPS, WIDTH]
    x = tl.load(x_row[:, None, None] + column[None, :, :], mask=(column < n_cols)[None, :, :], other=-float("inf"))
    best = tl.max(_best_of_groups(x.to(tl.float32), group), axis=1)
    tl.store(y_ptr + row, _place(x_row, best, n_cols, WIDTH).to(tl.int64), mask=row < n_rows)


@triton.jit
def argmax_parts(x_ptr, best_ptr, n_cols, pitch, part_groups, parts, GROUPS: tl.constexpr, WIDTH: tl.constexpr):
    row = (tl.program_id(0) // parts).to(tl.int64)
    start = (tl.program_id(0) % parts).to(tl.int64) * part_groups
    best = tl.full([1, GROUPS], UNSEEN, tl.int64)
    for first in range(start, start + part_groups, GROUPS):
        group = first + tl.arange(0, GROUPS)
        column = group[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]  # [GROUPS, WIDTH]
        x = tl.load(x_ptr + row * pitch + column, mask=column < n_cols, other=-float("inf"))
        best = tl.maximum(best, _best_of_groups(x.to(tl.float32)[None, :, :], group))
    tl.store(best_ptr + tl.program_id(0) + tl.arange(0, 1), tl.max(best, axis=1))


@triton.jit
def argmax_of_parts(x_ptr, best_ptr, y_ptr, n_cols, pitch, parts, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) + tl.arange(0, 1)
    lanes = tl.arange(0, BLOCK)
    found = tl.load(best_ptr + row[:, None] * parts + lanes[None, :], mask=(lanes < parts)[None, :], other=UNSEEN)
    place = _place(x_ptr + row * pitch, tl.max(found, axis=1), n_cols, WIDTH)
    tl.store(y_ptr + row, place.to(tl.int64))


def run(x: torch.Tensor, *, tile_bytes: int = TILE_BYTES, num_warps: int = NUM_WARPS, part_bytes: int = PART_BYTES) -> torch.Tensor:
    """First place of the maximum of each row of x, (M, N) with contiguous rows."""
    rows, columns = x.shape
    width = 16 // x.element_size()
    y = torch.empty(rows, dtype=torch.int64, device=x.device)
    groups, tile = triton.cdiv(columns, width), tile_bytes // 16
    if groups <= tile:
        across = triton.next_power_of_2(groups)
        grid, shape = (triton.cdiv(rows, tile // across),), {"ROWS": tile // across, "GROUPS": across, "WIDTH": width}
        argmax_rows[grid](x, y, rows, columns, x.stride(0), **shape, num_warps=num_warps)
        return y
    part = tile * triton.cdiv(max(part_bytes // 16, triton.cdiv(groups, MAX_PARTS)), tile)
    parts = triton.cdiv(groups, part)
    best = torch.empty(rows * parts, dtype=torch.int64, device=x.device)
    argmax_parts[(rows * parts,)](x, best, columns, x.stride(0), part, parts, GROUPS=tile, WIDTH=width, num_warps=num_warps)
    argmax_of_parts[(rows,)](x, best, y, columns, x.stride(0), parts, BLOCK=triton.next_power_of_2(parts), WIDTH=width)
    return y


def compile_specs() -> list[TritonSpec]:
    """Short rows and parts of long rows in both dtypes, and the second launch."""
    specs = []
    for name, size in (("fp32", 4), ("bf16", 2)):
        x, sizes = {"x_ptr": f"*{name}"}, {"n_cols": "i32", "pitch": "i32"}
        short = {"ROWS": 4, "GROUPS": 128, "WIDTH": 16 // size}
        parts = {"GROUPS": TILE_BYTES // 16, "WIDTH": 16 // size}
        short_names = {**x, "y_ptr": "*i64", "n_rows": "i32", **sizes}
        part_names = {**x, "best_ptr": "*i64", **sizes, "part_groups": "i32", "parts": "i32"}
        last_names = {**x, "best_ptr": "*i64", "y_ptr": "*i64", **sizes, "parts": "i32"}
        specs.append(TritonSpec(argmax_rows, short_names, short, num_warps=NUM_WARPS, divisible_by_16=tuple(short_names)))
        specs.append(TritonSpec(argmax_parts, part_names, parts, num_warps=NUM_WARPS, divisible_by_16=tuple(part_names)[:-1]))
        specs.append(TritonSpec(argmax_of_parts, last_names, {"BLOCK": 1024, "WIDTH": 16 // size}, divisible_by_16=tuple(last_names)[:-1]))
    return specs

"""Segment sum in Triton: rows and segment ends shared out evenly over programs, pieces of long segments added by a second launch."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec

DETERMINISTIC = True
ITEMS = 128
"""Rows and segment ends of a program."""
TILE_BYTES = 4096
"""Of values that a program of one warp loads at a time: eight 16-byte loads in flight per thread."""
SLICE_BYTES = 512
"""Of a row that one program takes: 16 bytes a thread."""
WATCHED = 32
"""Programs of the first launch that one of the second looks at."""
PIECES = 64
"""Pieces of a long segment that the second launch loads at a time."""
PIECES_COLUMNS = 32


@triton.jit
def _ends_before(offsets_ptr, item, segments):
    """How many segments end before this item; the keys offsets[s + 1] + s rise strictly."""
    low = item * 0  # int64, as item is
    high = low + segments
    while low < high:
        middle = (low + high) // 2
        ends_before = tl.load(offsets_ptr + middle + 1) + middle < item
        low = tl.where(ends_before, middle + 1, low)
        high = tl.where(ends_before, high, middle)
    return low


@triton.jit(do_not_specialize=["rows", "segments", "slices"])
def segment_sum_items(
    values_ptr, offsets_ptr, y_ptr, heads_ptr, tails_ptr, closed_ptr, rows, columns, segments, pitch, slices,
    ITEMS: tl.constexpr, ROWS: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    worker = (tl.program_id(0) // slices).to(tl.int64)
    column = tl.program_id(0) % slices * BLOCK_D + tl.arange(0, BLOCK_D)
    first_item = worker * ITEMS
    end_item = tl.minimum(first_item + ITEMS, segments.to(tl.int64) + rows)
    segment = _ends_before(offsets_ptr, first_item, segments)
    end_segment = _ends_before(offsets_ptr, end_item, segments)  # the first that does not end here ...
    open_begin = tl.load(offsets_ptr + tl.minimum(end_segment, segments))
    if (end_segment < segments) & (open_begin + end_segment < end_item):
        end_segment += 1  # ... but has rows here
    first_begin = tl.load(offsets_ptr + segment)
    if (first_begin + segment < first_item) & (tl.load(offsets_ptr + segment + 1) - first_begin <= ITEMS):
        segment += 1  # begun in the items of another program, which sees it to its end
    closed = tl.full([], -1, tl.int64)
    for number in range(segment, end_segment):
        begin = tl.load(offsets_ptr + number).to(tl.int64)
        stop = tl.load(offsets_ptr + number + 1).to(tl.int64)
        is_long = stop - begin > ITEMS
        first_row = tl.where(is_long, tl.maximum(begin, first_item - number), begin)
        end_row = tl.where(is_long, tl.minimum(stop, end_item - number), stop)
        total = tl.zeros([ROWS, BLOCK_D], tl.float32)
        for row in range(first_row, end_row, ROWS):
            here = row + tl.arange(0, ROWS)
            mask = (here < end_row)[:, None] & (column < columns)[None, :]
            at = values_ptr + here[:, None] * pitch + column[None, :]
            total += tl.load(at, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
        piece = tl.sum(total, axis=0)
        if is_long:
            if stop + number < end_item:
                tl.store(heads_ptr + worker * columns + column, piece, mask=column < columns)
                closed = tl.full([], number, tl.int64)
            else:
                tl.store(tails_ptr + worker * columns + column, piece, mask=column < columns)
        else:
            tl.store(y_ptr + number * columns + column, piece.to(y_ptr.dtype.element_ty), mask=column < columns)
    if tl.program_id(0) % slices == 0:
        tl.store(closed_ptr + worker, closed)


@triton.jit(do_not_specialize=["workers"])
def segment_sum_pieces(
    offsets_ptr, heads_ptr, tails_ptr, closed_ptr, y_ptr, workers, columns,
    ITEMS: tl.constexpr, WATCHED: tl.constexpr, PIECES: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    first_watched = tl.program_id(0) * WATCHED
    watched = first_watched + tl.arange(0, WATCHED)
    column = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    if tl.max(tl.load(closed_ptr + watched, mask=watched < workers, other=-1), axis=0) >= 0:
        for last in range(first_watched, tl.minimum(first_watched + WATCHED, workers)):
            segment = tl.load(closed_ptr + last)
            if segment >= 0:
                first = (tl.load(offsets_ptr + segment).to(tl.int64) + segment) // ITEMS  # whose items it begins in
                total = tl.zeros([PIECES, BLOCK_D], tl.float32)
                for start in range(first, last, PIECES):
                    piece = start + tl.arange(0, PIECES)
                    mask = (piece < last)[:, None] & (column < columns)[None, :]
                    total += tl.load(tails_ptr + piece[:, None] * columns + column[None, :], mask=mask, other=0.0)
                head = tl.load(heads_ptr + tl.cast(last, tl.int64) * columns + column, mask=column < columns, other=0.0)
                y = head + tl.sum(total, axis=0)
                tl.store(y_ptr + segment.to(tl.int64) * columns + column, y.to(y_ptr.dtype.element_ty), mask=column < columns)


def _tile(columns: int, element_size: int) -> dict[str, int]:
    """Rows and columns of a tile of at most TILE_BYTES, at most SLICE_BYTES of them across."""
    across = min(SLICE_BYTES // element_size, triton.next_power_of_2(columns))
    return {"ROWS": min(ITEMS, max(1, TILE_BYTES // (across * element_size))), "BLOCK_D": across}


def run(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Sums of the rows of values, (T, D) with contiguous rows, between offsets, (S + 1,) int32, as (S, D)."""
    (rows, columns), segments = values.shape, offsets.numel() - 1
    workers = triton.cdiv(rows + segments, ITEMS)
    y = torch.empty((segments, columns), dtype=values.dtype, device=values.device)
    heads, tails = (torch.empty((workers, columns), dtype=torch.float32, device=values.device) for _ in range(2))
    closed = torch.empty(workers, dtype=torch.int32, device=values.device)
    tile = _tile(columns, values.element_size())
    slices = triton.cdiv(columns, tile["BLOCK_D"])
    sizes = (rows, columns, segments, values.stride(0), slices)
    segment_sum_items[(workers * slices,)](values, offsets, y, heads, tails, closed, *sizes, ITEMS=ITEMS, **tile, num_warps=1)
    grid = (triton.cdiv(workers, WATCHED), triton.cdiv(columns, PIECES_COLUMNS))
    constexprs = {"ITEMS": ITEMS, "WATCHED": WATCHED, "PIECES": PIECES, "BLOCK_D": PIECES_COLUMNS}
    segment_sum_pieces[grid](offsets, heads, tails, closed, y, workers, columns, **constexprs, num_warps=8)
    return y


def compile_specs() -> list[TritonSpec]:
    """Rows of 128 bf16 and of 512 fp32, and the second launch."""
    specs = []
    scratch = {"heads_ptr": "*fp32", "tails_ptr": "*fp32", "closed_ptr": "*i32"}
    for name, size, columns in (("bf16", 2, 128), ("fp32", 4, 512)):
        sizes = dict.fromkeys(("rows", "columns", "segments", "pitch", "slices"), "i32")
        signature = {"values_ptr": f"*{name}", "offsets_ptr": "*i32", "y_ptr": f"*{name}", **scratch, **sizes}
        divisible = tuple(key for key in signature if key not in ("segments", "rows", "slices"))
        specs.append(TritonSpec(segment_sum_items, signature, {"ITEMS": ITEMS, **_tile(columns, size)}, 1, divisible_by_16=divisible))
        signature = {"offsets_ptr": "*i32", **scratch, "y_ptr": f"*{name}", "workers": "i32", "columns": "i32"}
        constexprs = {"ITEMS": ITEMS, "WATCHED": WATCHED, "PIECES": PIECES, "BLOCK_D": PIECES_COLUMNS}
        specs.append(TritonSpec(segment_sum_pieces, signature, constexprs, 8, divisible_by_16=tuple(signature)[:-2]))
    return specs

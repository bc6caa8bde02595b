"""Segment sum in CUDA C++: rows and segment ends shared out evenly over workers, pieces of long segments added by a second kernel."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec
from kernel_wiki.harness.cuda import i64, load_kernel

DETERMINISTIC = True
SOURCE = Path(__file__).with_suffix(".cu")
DTYPES = {torch.float32: "FP32", torch.bfloat16: "BF16", torch.float16: "FP16"}
THREADS = 128
ITEMS = 128
"""Rows and segment ends of a worker. More makes the binary search and the pieces cheaper and the last wave of blocks longer."""
UNROLL = 8
"""Rows that a worker has in flight: 128 bytes a lane."""
PIECES_THREADS = 1024
"""32 warps share the pieces of a segment, which may be half of the input."""


def run(values: torch.Tensor, offsets: torch.Tensor, *, threads: int = THREADS, items: int = ITEMS, unroll: int = UNROLL) -> torch.Tensor:
    """Sums of the rows of values, (T, D) with contiguous rows, between offsets, (S + 1,) int32, as (S, D)."""
    (rows, columns), segments, pitch = values.shape, offsets.numel() - 1, values.stride(0)
    width = 16 // values.element_size()
    aligned = columns % width == 0 and pitch % width == 0 and values.data_ptr() % 16 == 0
    accesses = columns // width if aligned else columns
    lanes = min(32, 1 << (accesses - 1).bit_length())
    slices = -(-accesses // lanes)
    workers = -(-(rows + segments) // items)
    y = torch.empty((segments, columns), dtype=values.dtype, device=values.device)
    heads, tails = (torch.empty((workers, columns), dtype=torch.float32, device=values.device) for _ in range(2))
    closed = torch.empty(workers, dtype=torch.int32, device=values.device)
    dtype = DTYPES[values.dtype]
    add = load_kernel(SOURCE, "segment_sum_items", defines=_defines(dtype, aligned, lanes, items, unroll, threads))
    blocks = -(-workers * slices * lanes // threads)
    add((blocks,), (threads,), values, offsets, y, heads, tails, closed, rows, columns, segments, i64(pitch), slices)
    join = load_kernel(SOURCE, "segment_sum_pieces", defines=_defines(dtype, False, 32, items, unroll, PIECES_THREADS))
    join((-(-workers // 32), -(-columns // 32)), (PIECES_THREADS,), offsets, heads, tails, closed, y, workers, columns)
    return y


def compile_specs() -> list[CudaSpec]:
    """Rows of half a warp and of several, rows of odd length, and the second kernel."""
    variants = (("BF16", True, 16), ("FP16", True, 32), ("FP32", True, 32), ("FP32", False, 32))
    specs = [
        CudaSpec(SOURCE.name, ("segment_sum_items",), threads_per_block=THREADS, defines=_defines(*variant, ITEMS, UNROLL, THREADS))
        for variant in variants
    ]
    defines = _defines("BF16", False, 32, ITEMS, UNROLL, PIECES_THREADS)
    return [*specs, CudaSpec(SOURCE.name, ("segment_sum_pieces",), threads_per_block=PIECES_THREADS, defines=defines)]


def _defines(dtype: str, aligned: bool, lanes: int, items: int, unroll: int, threads: int) -> dict[str, str]:
    sizes = {"LANES": lanes, "ITEMS": items, "UNROLL": unroll, "THREADS": threads}
    return {"DTYPE": dtype, "ALIGNED": str(int(aligned)), **{name: str(value) for name, value in sizes.items()}}

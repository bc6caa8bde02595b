"""Transpose in CUDA C++ with 16-byte accesses to global and shared memory: register micro-tiles and an XOR-swizzled tile."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec
from kernel_wiki.harness.cuda import load_kernel

DETERMINISTIC = True
SOURCE = Path(__file__).with_suffix(".cu")
DTYPES = {torch.float32: "FP32", torch.bfloat16: "BF16"}
TILES = {torch.float32: (64, 64), torch.bfloat16: (128, 128)}
"""Rows and columns of a tile: 256 contiguous bytes on both sides."""
MICROS = 1
"""Micro-tiles per thread: 256 threads a block, with 4 (fp32) or 8 (bf16) 16-byte loads in flight each."""
GROUP = 8
"""Tile rows walked down before one tile column right: runs of 2 KiB in the result among blocks that start together."""
LOADS = "PLAIN"
"""On an H200 faster than asking L2 for whole lines past L1, and than evict-first."""
STORES = "PLAIN"
"""Not evict-first: a row that starts off a 128-byte boundary shares lines between two tiles, and L2 should hold them until both came."""


def run(
    x: torch.Tensor,
    *,
    tile: tuple[int, int] | None = None,
    micros: int = MICROS,
    group: int = GROUP,
    loads: str = LOADS,
    stores: str = STORES,
) -> torch.Tensor:
    """The contiguous transpose of x, (M, N) with contiguous rows; 16-byte accesses where every row of x and y starts on 16 bytes."""
    (m, n), pitch = x.shape, x.stride(0)
    tile_rows, tile_cols = tile or TILES[x.dtype]
    width = 16 // x.element_size()
    aligned = m % width == 0 and n % width == 0 and pitch % width == 0 and x.data_ptr() % 16 == 0
    defines = _defines(DTYPES[x.dtype], (tile_rows, tile_cols), aligned, micros, loads, stores)
    kernel = load_kernel(SOURCE, "transpose_swizzled", defines=defines)
    y = torch.empty((n, m), dtype=x.dtype, device=x.device)
    tiles = -(-m // tile_rows) * -(-n // tile_cols)
    threads = (tile_rows // width) * (tile_cols // width) // micros
    kernel((tiles,), (threads,), x, y, m, n, pitch, group)
    return y


def compile_specs() -> list[CudaSpec]:
    """Both dtypes, aligned and not."""
    return [
        CudaSpec(SOURCE.name, ("transpose_swizzled",), defines=_defines(name, TILES[dtype], aligned, MICROS, LOADS, STORES))
        for dtype, name in DTYPES.items()
        for aligned in (True, False)
    ]


def _defines(dtype: str, tile: tuple[int, int], aligned: bool, micros: int, loads: str, stores: str) -> dict[str, str]:
    sizes = {"TILE_ROWS": str(tile[0]), "TILE_COLS": str(tile[1]), "MICROS": str(micros), "ALIGNED": str(int(aligned))}
    return {"DTYPE": dtype, "LOADS": loads, "STORES": stores} | sizes

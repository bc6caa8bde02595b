"""Transpose in CUDA C++ with 16-byte accesses to global and shared memory: register micro-tiles and an XOR-swizzled tile."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec
from kernel_wiki.harness.cuda import load_kernel

SOURCE = Path(__file__).with_suffix(".cu")
DTYPES = {torch.float32: "FP32", torch.bfloat16: "BF16"}
TILES = {torch.float32: (64, 64), torch.bfloat16: (128, 128)}
"""Rows and columns of a tile: 256 threads, 256 contiguous bytes on both sides."""


def run(x: torch.Tensor, *, tile: tuple[int, int] | None = None) -> torch.Tensor:
    """The contiguous transpose of x, (M, N) contiguous and 16-byte aligned."""
    m, n = x.shape
    tile_rows, tile_cols = tile or TILES[x.dtype]
    width = 16 // x.element_size()
    aligned = m % width == 0 and n % width == 0
    kernel = load_kernel(SOURCE, "transpose_swizzled", defines=_defines(DTYPES[x.dtype], (tile_rows, tile_cols), aligned))
    y = torch.empty((n, m), dtype=x.dtype, device=x.device)
    tiles_down, tiles_across = -(-m // tile_rows), -(-n // tile_cols)
    threads = (tile_rows // width) * (tile_cols // width)
    kernel((tiles_down * tiles_across,), (threads,), x, y, m, n, tiles_across)
    return y


def compile_specs() -> list[CudaSpec]:
    """Both dtypes, aligned and not."""
    return [
        CudaSpec(SOURCE.name, ("transpose_swizzled",), defines=_defines(name, TILES[dtype], aligned))
        for dtype, name in DTYPES.items()
        for aligned in (True, False)
    ]


def _defines(dtype: str, tile: tuple[int, int], aligned: bool) -> dict[str, str]:
    return {"DTYPE": dtype, "TILE_ROWS": str(tile[0]), "TILE_COLS": str(tile[1]), "ALIGNED": str(int(aligned))}

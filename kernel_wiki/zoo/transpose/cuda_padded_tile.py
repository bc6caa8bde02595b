"""Transpose in CUDA C++ through a padded shared-memory tile, one element an access."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec
from kernel_wiki.harness.cuda import load_kernel

SOURCE = Path(__file__).with_suffix(".cu")
DTYPES = {torch.float32: "FP32", torch.bfloat16: "BF16"}
TILES = {torch.float32: 32, torch.bfloat16: 64}
"""Side of the square tile: a multiple of the 32 lanes, 128 bytes along a row."""
ROWS = 8
"""Rows of 32 threads in a block: 256 threads, each with TILE * TILE / 256 loads in flight."""


def run(x: torch.Tensor, *, tile: int | None = None, rows: int = ROWS) -> torch.Tensor:
    """The contiguous transpose of x, (M, N) contiguous."""
    m, n = x.shape
    side = tile or TILES[x.dtype]
    kernel = load_kernel(SOURCE, "transpose_padded", defines=_defines(DTYPES[x.dtype], side, rows))
    y = torch.empty((n, m), dtype=x.dtype, device=x.device)
    tiles_down, tiles_across = -(-m // side), -(-n // side)
    kernel((tiles_down * tiles_across,), (32, rows), x, y, m, n, tiles_across)
    return y


def compile_specs() -> list[CudaSpec]:
    """Both dtypes."""
    return [
        CudaSpec(SOURCE.name, ("transpose_padded",), threads_per_block=32 * ROWS, defines=_defines(name, TILES[dtype], ROWS))
        for dtype, name in DTYPES.items()
    ]


def _defines(dtype: str, tile: int, rows: int) -> dict[str, str]:
    return {"DTYPE": dtype, "TILE": str(tile), "ROWS": str(rows)}

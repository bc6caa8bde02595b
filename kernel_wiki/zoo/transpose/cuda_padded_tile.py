"""Transpose in CUDA C++ through a padded shared-memory tile, one element an access."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec
from kernel_wiki.harness.cuda import load_kernel

DETERMINISTIC = True
SOURCE = Path(__file__).with_suffix(".cu")
DTYPES = {torch.float32: "FP32", torch.bfloat16: "BF16"}
TILE = 64
"""Side of the square tile, a multiple of the 32 lanes."""
ROWS = {torch.float32: 16, torch.bfloat16: 8}
"""Rows of 32 threads in a block: 8 loads (fp32) or 16 (bf16) in flight per thread."""
GROUP = 1
"""Tile rows walked down before one tile column right. On an H200 groups of 4 to 64 were no faster than plain row order."""


def run(x: torch.Tensor, *, tile: int = TILE, rows: int | None = None, group: int = GROUP) -> torch.Tensor:
    """The contiguous transpose of x, (M, N) with contiguous rows."""
    m, n = x.shape
    rows = rows or ROWS[x.dtype]
    kernel = load_kernel(SOURCE, "transpose_padded", defines=_defines(DTYPES[x.dtype], x.stride(0) == n, tile, rows))
    y = torch.empty((n, m), dtype=x.dtype, device=x.device)
    kernel((-(-m // tile) * -(-n // tile),), (32, rows), x, y, m, n, x.stride(0), group)
    return y


def compile_specs() -> list[CudaSpec]:
    """Both dtypes, with rows further apart than they are long and without."""
    return [
        CudaSpec(SOURCE.name, ("transpose_padded",), threads_per_block=32 * ROWS[dtype], defines=_defines(name, dense, TILE, ROWS[dtype]))
        for dtype, name in DTYPES.items()
        for dense in (False, True)
    ]


def _defines(dtype: str, dense: bool, tile: int, rows: int) -> dict[str, str]:
    return {"DTYPE": dtype, "DENSE": str(int(dense)), "TILE": str(tile), "ROWS": str(rows)}

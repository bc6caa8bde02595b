"""Transpose in CUDA C++ without shared memory, a 32-byte sector of the result a thread. Right, and slower than a padded tile."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec
from kernel_wiki.harness.cuda import i64, load_kernel

DETERMINISTIC = True
SOURCE = Path(__file__).with_suffix(".cu")
DTYPES = {torch.float32: "FP32", torch.bfloat16: "BF16"}
LANES, WARPS = 32, 8
"""As in the source: a block makes 32 rows of y, 256 bytes of each."""
SECTOR_BYTES = 32


def run(x: torch.Tensor) -> torch.Tensor:
    """The contiguous transpose of x, (M, N) with contiguous rows."""
    m, n = x.shape
    size = x.element_size()
    y = torch.empty((n, m), dtype=x.dtype, device=x.device)
    kernel = load_kernel(SOURCE, "transpose_direct", defines=_defines(DTYPES[x.dtype], m * size % 16 == 0))
    blocks = -(-n // LANES) * -(-m // (SECTOR_BYTES // size * WARPS))
    kernel((blocks,), (LANES, WARPS), x, y, m, n, i64(x.stride(0)))
    return y


def compile_specs() -> list[CudaSpec]:
    """Both dtypes, rows of y that start on 16 bytes and rows that do not."""
    return [
        CudaSpec(SOURCE.name, ("transpose_direct",), threads_per_block=LANES * WARPS, defines=_defines(dtype, aligned))
        for dtype in DTYPES.values()
        for aligned in (True, False)
    ]


def _defines(dtype: str, aligned: bool) -> dict[str, str]:
    return {"DTYPE": dtype, "ALIGNED": str(int(aligned))}

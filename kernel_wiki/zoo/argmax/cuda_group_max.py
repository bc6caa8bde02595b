"""Row argmax in CUDA C++: a packed maximum over each 16-byte group, the place looked up once a row; long rows are split over blocks."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec
from kernel_wiki.harness.cuda import i64, load_kernel

DETERMINISTIC = True
SOURCE = Path(__file__).with_suffix(".cu")
DTYPES = {torch.float32: "FP32", torch.bfloat16: "BF16"}
THREADS = 256
UNROLL = 4
"""16-byte loads in flight per thread on a row that is long enough."""
SHORT_ROWS = 4
"""Rows of up to 32 groups that a warp takes at a time: one load in flight per lane and row."""
SHORT_ROW_GROUPS = 32
WARP_ROW_GROUPS = 512
"""Rows of up to this many groups (8 KiB) go to one warp each: 16 loads a lane."""
PART_GROUPS = 2048
"""Groups of a part, 32 KiB: two rounds of a block's loads, small enough that the last wave of blocks is short."""
MAX_PARTS = 4096
"""A row; beyond it parts grow instead, so that the atomics on one address stay few."""

_workspaces: dict[tuple[torch.device, int], tuple[torch.Tensor, torch.Tensor]] = {}
"""Running maxima and counts of finished blocks by device and stream: the kernel leaves them at zero, so no launch clears them."""


def run(x: torch.Tensor, *, threads: int = THREADS, unroll: int = UNROLL, part_groups: int = PART_GROUPS) -> torch.Tensor:
    """First place of the maximum of each row of x, (M, N) with contiguous rows."""
    rows, columns = x.shape
    width = 16 // x.element_size()
    y = torch.empty(rows, dtype=torch.int64, device=x.device)
    aligned = x.data_ptr() % 16 == 0 and x.stride(0) % width == 0
    groups = -(-columns // width) + (0 if aligned else 1)  # one more where a row starts between two groups
    defines = _defines(DTYPES[x.dtype], threads, unroll)
    if groups <= WARP_ROW_GROUPS:
        short = groups <= SHORT_ROW_GROUPS
        blocks = -(-rows // (threads // 32 * (SHORT_ROWS if short else 1)))
        kernel = load_kernel(SOURCE, "argmax_short_rows" if short else "argmax_warp_row", defines=defines)
        kernel((blocks,), (threads,), x, y, rows, columns, i64(x.stride(0)))
        return y
    part = max(part_groups, -(-groups // MAX_PARTS))
    parts = -(-groups // part)
    kernel = load_kernel(SOURCE, "argmax_parts", defines=defines)
    tops, counts = _workspace(x.device, rows)
    kernel((rows * parts,), (threads,), x, y, tops, counts, i64(columns), i64(x.stride(0)), i64(part), parts)
    return y


def _workspace(device: torch.device, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    key = (device, torch.cuda.current_stream(device).cuda_stream)
    if key not in _workspaces or _workspaces[key][0].numel() < rows:
        zeros = (torch.zeros(rows, dtype=dtype, device=device) for dtype in (torch.int64, torch.int32))
        _workspaces[key] = tuple(zeros)
    return _workspaces[key]


def compile_specs() -> list[CudaSpec]:
    """Both dtypes, the three kernels."""
    names = ("argmax_short_rows", "argmax_warp_row", "argmax_parts")
    return [CudaSpec(SOURCE.name, names, threads_per_block=THREADS, defines=_defines(dtype, THREADS, UNROLL)) for dtype in DTYPES.values()]


def _defines(dtype: str, threads: int, unroll: int) -> dict[str, str]:
    return {"DTYPE": dtype, "THREADS": str(threads), "UNROLL": str(unroll), "ROWS": str(SHORT_ROWS)}

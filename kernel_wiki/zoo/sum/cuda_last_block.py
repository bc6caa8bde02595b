"""Sum in CUDA C++ in one launch: the block that finishes last adds the partial sums in a fixed order. Deterministic."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec, multiprocessor_count
from kernel_wiki.harness.cuda import i64, load_kernel

DETERMINISTIC = True
SOURCE = Path(__file__).with_suffix(".cu")
DTYPES = {torch.float32: "FP32", torch.bfloat16: "BF16"}
THREADS = 512
UNROLL = 4
"""16-byte loads in flight per thread."""
BLOCKS_PER_SM = 3
"""Three blocks of 512 threads fit an sm_90 SM at up to 40 registers, so the whole grid is resident and its shares stay even."""

_counters: dict[tuple[torch.device, int], torch.Tensor] = {}
"""The count of finished blocks, by device and stream: the kernel leaves it at zero, so that no launch has to clear it."""


def run(x: torch.Tensor, *, threads: int = THREADS, unroll: int = UNROLL, blocks_per_sm: int = BLOCKS_PER_SM) -> torch.Tensor:
    """The sum of x, (N,) contiguous, as a float32 scalar tensor."""
    kernel = load_kernel(SOURCE, "sum_last_block", defines=_defines(DTYPES[x.dtype], x.data_ptr() % 16 == 0, threads, unroll))
    tiles = -(-x.numel() * x.element_size() // (16 * threads * unroll))
    blocks = min(tiles, blocks_per_sm * multiprocessor_count(x))
    partials = torch.empty(blocks, dtype=torch.float32, device=x.device)
    y = torch.empty((), dtype=torch.float32, device=x.device)
    kernel((blocks,), (threads,), x, partials, _counter(x.device), y, i64(x.numel()))
    return y


def _counter(device: torch.device) -> torch.Tensor:
    key = (device, torch.cuda.current_stream(device).cuda_stream)
    if key not in _counters:
        _counters[key] = torch.zeros(1, dtype=torch.int32, device=device)
    return _counters[key]


def compile_specs() -> list[CudaSpec]:
    """Both dtypes, x off and on 16-byte boundaries."""
    return [
        CudaSpec(SOURCE.name, ("sum_last_block",), threads_per_block=THREADS, defines=_defines(dtype, aligned, THREADS, UNROLL))
        for dtype in DTYPES.values()
        for aligned in (False, True)
    ]


def _defines(dtype: str, aligned: bool, threads: int, unroll: int) -> dict[str, str]:
    return {"DTYPE": dtype, "ALIGNED": str(int(aligned)), "THREADS": str(threads), "UNROLL": str(unroll)}

"""Wrong on purpose: a look-ahead reads offsets[S + 1], which does not exist. Every sum is right; memcheck sees the read."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("run", "memory-fault")
DTYPES = {torch.float32: "0", torch.bfloat16: "1", torch.float16: "2"}
THREADS = 128


def run(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Four segments a block; the last block looks four bytes too far."""
    columns, segments = values.shape[1], offsets.numel() - 1
    y = torch.empty((segments, columns), dtype=values.dtype, device=values.device)
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "segment_sum_ahead", defines={"DTYPE": DTYPES[values.dtype]})
    kernel((-(-segments // 4),), (THREADS,), values, offsets, y, columns, segments, i64(values.stride(0)))
    return y

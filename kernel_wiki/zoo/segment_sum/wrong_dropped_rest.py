"""Wrong on purpose: a loop unrolled by four without a loop for the rest. Segments whose length is a multiple of four are right."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("correctness", "mismatch")
DTYPES = {torch.float32: "0", torch.bfloat16: "1", torch.float16: "2"}
THREADS = 128


def run(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Empty segments are right too: they give 0."""
    columns, segments = values.shape[1], offsets.numel() - 1
    y = torch.empty((segments, columns), dtype=values.dtype, device=values.device)
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "segment_sum_by_four", defines={"DTYPE": DTYPES[values.dtype]})
    kernel((segments,), (THREADS,), values, offsets, y, columns, i64(values.stride(0)))
    return y

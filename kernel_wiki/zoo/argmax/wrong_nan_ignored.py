"""Wrong on purpose: NaN never wins a comparison. The row's largest number is found where torch.argmax finds the first NaN."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("correctness", "mismatch")
THREADS = 256


def run(x: torch.Tensor) -> torch.Tensor:
    """Right for every row without NaN."""
    defines = {"BF16": str(int(x.dtype == torch.bfloat16))}
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "argmax_without_nan", defines=defines)
    y = torch.empty(x.shape[0], dtype=torch.int64, device=x.device)
    kernel((x.shape[0],), (THREADS,), x, y, i64(x.shape[1]), i64(x.stride(0)))
    return y

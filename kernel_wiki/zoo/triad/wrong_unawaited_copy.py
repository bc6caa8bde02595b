"""Wrong on purpose: missing sync. The wait for cp.async comes after the tile was read, so shared memory holds what it held before."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("correctness", "mismatch")
THREADS = 256


def run(a: torch.Tensor, b: torch.Tensor, s: float) -> torch.Tensor:
    """Reads the tile within nanoseconds of asking for it; memory answers after hundreds."""
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "triad_unawaited")
    y = torch.empty(a.shape, dtype=torch.float32, device=a.device)
    kernel((-(-a.numel() // THREADS),), (THREADS,), a.float(), b.float(), y, float(s), i64(a.numel()))
    return y.to(a.dtype)

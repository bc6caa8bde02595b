"""Wrong on purpose: a race. The barrier between storing and adding the warps' partial sums is missing."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import multiprocessor_count
from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("correctness", "mismatch")


def run(x: torch.Tensor) -> torch.Tensor:
    """Misses the warps of each block that come after its first."""
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "sum_racing")
    y = torch.zeros((), dtype=torch.float32, device=x.device)
    blocks = min(-(-x.numel() // 256), 8 * multiprocessor_count(x))
    kernel((blocks,), (256,), x.float(), y, i64(x.numel()))
    return y

"""Wrong on purpose: partial sums are read through an L1 that held the line before other SMs wrote it. Right with a single block."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import multiprocessor_count
from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("correctness", "mismatch")


def run(x: torch.Tensor) -> torch.Tensor:
    """Adds what the scratch memory held before the launch for every block that another SM ran."""
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "sum_stale")
    blocks = min(-(-x.numel() // 256), 4 * multiprocessor_count(x))
    partials = torch.empty(blocks, dtype=torch.float32, device=x.device)
    finished = torch.zeros(1, dtype=torch.int32, device=x.device)
    y = torch.empty((), dtype=torch.float32, device=x.device)
    kernel((blocks,), (256,), x.float(), partials, finished, y, i64(x.numel()))
    return y

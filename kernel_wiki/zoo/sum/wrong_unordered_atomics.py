"""Wrong on purpose: a reduction by float atomics that claims to be deterministic. Right in value; the last bits vary between calls."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import multiprocessor_count
from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("correctness", "mismatch")
DETERMINISTIC = True


def run(x: torch.Tensor) -> torch.Tensor:
    """Within the tolerance; without the claim above it would be an honest implementation."""
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "sum_unordered")
    y = torch.zeros((), dtype=torch.float32, device=x.device)
    blocks = min(-(-x.numel() // 256), 8 * multiprocessor_count(x))
    kernel((blocks,), (256,), x.float(), y, i64(x.numel()))
    return y

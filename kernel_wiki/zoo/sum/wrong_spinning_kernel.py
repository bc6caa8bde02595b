"""Wrong on purpose: a kernel that never ends. From the second call on it waits in memory for one block more than the grid has."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import multiprocessor_count
from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("run", "hang")

_calls = 0


def run(x: torch.Tensor) -> torch.Tensor:
    """Right once; then only the end of the process ends the kernel."""
    global _calls
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "sum_spinning")
    y = torch.zeros((), dtype=torch.float32, device=x.device)
    arrived = torch.zeros(1, dtype=torch.int32, device=x.device)
    blocks = min(-(-x.numel() // 256), multiprocessor_count(x))
    kernel((blocks,), (256,), x.float(), y, arrived, blocks + min(_calls, 1), i64(x.numel()))
    _calls += 1
    return y

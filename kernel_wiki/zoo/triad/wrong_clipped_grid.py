"""Wrong on purpose: the grid is clipped to 65,535 blocks and the kernel has no loop, so large tensors are finished only in part."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("correctness", "mismatch")
THREADS = 256
MAX_BLOCKS = 65535
"""The limit of a grid's y and z axes, taken here for that of x."""


def run(a: torch.Tensor, b: torch.Tensor, s: float) -> torch.Tensor:
    """Right up to 16,776,960 elements, zero after that."""
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "triad_clipped")
    y = torch.zeros(a.shape, dtype=torch.float32, device=a.device)
    blocks = min(-(-a.numel() // THREADS), MAX_BLOCKS)
    kernel((blocks,), (THREADS,), a.float(), b.float(), y, float(s), i64(a.numel()))
    return y.to(a.dtype)

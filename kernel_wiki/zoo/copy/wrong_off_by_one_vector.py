"""Wrong on purpose: an off-by-one loop bound copies one 16-byte vector past the end. Every element of its output is right, until the block
after it in memory is another tensor of the check."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("correctness", "mismatch")
THREADS = 256


def run(x: torch.Tensor) -> torch.Tensor:
    """Right in a memory pool, where the block after y is seldom in use."""
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "copy_one_too_many")
    y = torch.empty_like(x)
    size = x.numel() * x.element_size()
    kernel((min(size // (16 * THREADS) + 1, 65536),), (THREADS,), x, y, i64(size))
    return y

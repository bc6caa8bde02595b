"""Wrong on purpose: overflow. The size in bytes is kept in an int; only a tensor of 2 GiB or more shows that nothing is copied."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("correctness", "mismatch")
THREADS = 256
BLOCKS = 1056
"""Eight blocks an SM of an H200; the loop takes the rest."""


def run(x: torch.Tensor) -> torch.Tensor:
    """Right below 2**31 bytes."""
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "copy_int_count")
    y = torch.empty_like(x)
    kernel((BLOCKS,), (THREADS,), x, y, i64(x.numel() * x.element_size()))
    return y

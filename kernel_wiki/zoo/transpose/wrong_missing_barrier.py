"""Wrong on purpose: a race. The barrier between writing and reading the shared-memory tile is missing."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import load_kernel

REJECTED_AS = ("correctness", "mismatch")


def run(x: torch.Tensor) -> torch.Tensor:
    """Right for the tiles whose warps happen to run in step."""
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "transpose_racing")
    rows, cols = x.shape
    y = torch.zeros((cols, rows), dtype=torch.float32, device=x.device)
    tiles_down, tiles_across = -(-rows // 32), -(-cols // 32)
    kernel((tiles_down * tiles_across,), (32, 8), x.float(), y, rows, cols, tiles_across)
    return y.to(x.dtype)

"""Wrong on purpose: a race that mostly comes out right. A delay stands where __syncthreads() belongs; on a busy GPU a warp comes late."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("correctness", "mismatch")


def run(x: torch.Tensor) -> torch.Tensor:
    """Right as long as no warp is held up for longer than the delay."""
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "transpose_delayed", defines={"BF16": str(int(x.dtype == torch.bfloat16))})
    rows, cols = x.shape
    y = torch.empty((cols, rows), dtype=x.dtype, device=x.device)
    tiles_down, tiles_across = -(-rows // 32), -(-cols // 32)
    kernel((tiles_down * tiles_across,), (32, 8), x, y, i64(x.stride(0)), rows, cols, tiles_across)
    return y

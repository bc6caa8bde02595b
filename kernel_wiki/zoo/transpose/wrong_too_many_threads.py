"""Wrong on purpose: blocks of 2,048 threads, where a GPU allows 1,024. The driver refuses the launch."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import load_kernel

REJECTED_AS = ("launch", "resource")


def run(x: torch.Tensor) -> torch.Tensor:
    """Never runs."""
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "transpose_wide", defines={"BF16": str(int(x.dtype == torch.bfloat16))})
    rows, cols = x.shape
    y = torch.empty((cols, rows), dtype=x.dtype, device=x.device)
    tiles_down, tiles_across = -(-rows // 64), -(-cols // 32)
    kernel((tiles_down * tiles_across,), (32, 64), x, y, rows, cols, tiles_across)
    return y

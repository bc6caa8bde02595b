"""Wrong on purpose: uninitialised memory is read and then dropped. Every value is right; initcheck sees the read."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("run", "memory-fault")
SLOTS = 4096
"""Of which the first kernel writes one a block."""


def run(x: torch.Tensor) -> torch.Tensor:
    """Right whatever the unwritten slots hold, NaN included."""
    source, defines = Path(__file__).with_suffix(".cu"), {"BF16": str(int(x.dtype == torch.bfloat16))}
    slots = torch.empty(SLOTS, dtype=torch.float32, device=x.device)
    y = torch.empty((), dtype=torch.float32, device=x.device)
    blocks = min(-(-x.numel() // 256), SLOTS // 2)
    load_kernel(source, "sum_to_slots", defines=defines)((blocks,), (256,), x, slots, i64(x.numel()))
    load_kernel(source, "sum_slots", defines=defines)((1,), (32,), slots, y, blocks, SLOTS)
    return y

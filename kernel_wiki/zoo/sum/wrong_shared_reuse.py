"""Wrong on purpose: shared memory is written again before all have read it. Right by luck, since the next write waits for memory;
racecheck sees the hazard."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("run", "race")
MAX_BLOCKS = 2048


def run(x: torch.Tensor) -> torch.Tensor:
    """Right as long as a load from memory takes longer than a read of shared memory."""
    source, defines = Path(__file__).with_suffix(".cu"), {"BF16": str(int(x.dtype == torch.bfloat16))}
    blocks = min(-(-x.numel() // 512), MAX_BLOCKS)
    slots = torch.empty(blocks, dtype=torch.float32, device=x.device)
    y = torch.empty((), dtype=torch.float32, device=x.device)
    load_kernel(source, "sum_two_halves", defines=defines)((blocks,), (256,), x, slots, i64(x.numel()))
    load_kernel(source, "sum_all_slots", defines=defines)((1,), (32,), slots, y, blocks)
    return y

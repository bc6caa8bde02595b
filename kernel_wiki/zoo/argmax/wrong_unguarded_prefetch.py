"""Wrong on purpose: the prefetch of the next element has no bounds check. Every answer is right; memcheck sees the reads behind x."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("run", "memory-fault")


def run(x: torch.Tensor) -> torch.Tensor:
    """Right in a memory pool, where the bytes behind x belong to someone."""
    defines = {"BF16": str(int(x.dtype == torch.bfloat16))}
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "argmax_prefetching", defines=defines)
    y = torch.empty(x.shape[0], dtype=torch.int64, device=x.device)
    kernel((x.shape[0],), (32,), x, y, i64(x.shape[1]), i64(x.stride(0)))
    return y

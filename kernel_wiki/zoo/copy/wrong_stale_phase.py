"""Wrong on purpose: a stale barrier phase. Each bulk load is awaited with the parity of the phase before, so old bytes are stored."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import multiprocessor_count
from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("correctness", "mismatch")
CHUNK_BYTES = 16384


def run(x: torch.Tensor) -> torch.Tensor:
    """Stores whatever the shared-memory buffer held before the load; only the last bytes past a vector take another way."""
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "copy_stale_phase")
    y = torch.empty_like(x)
    size = x.numel() * x.element_size()
    kernel((max(1, min(-(-size // CHUNK_BYTES), 2 * multiprocessor_count(x))),), (32,), x, y, i64(size))
    return y

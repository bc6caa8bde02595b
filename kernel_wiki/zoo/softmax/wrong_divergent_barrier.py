"""Wrong on purpose: barriers in a branch that not all threads of the block take. Right in value; synccheck sees the divergence."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import i64, load_kernel

REJECTED_AS = ("run", "hang")
DTYPES = {torch.float32: "0", torch.bfloat16: "1", torch.float16: "2"}
THREADS = 256


def run(x: torch.Tensor) -> torch.Tensor:
    """Ends only because a thread that has exited no longer counts at a barrier; rows of fewer than 256 columns diverge."""
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "softmax_divergent", defines={"DTYPE": DTYPES[x.dtype]})
    rows, columns = x.shape
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    kernel((rows,), (THREADS,), x, y, i64(x.stride(0)), columns)
    return y

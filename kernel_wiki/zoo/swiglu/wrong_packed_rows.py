"""Wrong on purpose: the stride of x is ignored. Every contiguous x gives the right answer, a column slice of a wider one does not."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.cuda import load_kernel

REJECTED_AS = ("correctness", "mismatch")
DTYPES = {torch.float32: "0", torch.bfloat16: "1", torch.float16: "2"}
THREADS = 256


def run(x: torch.Tensor) -> torch.Tensor:
    """Reads the padding between rows as if it were data, from the second row on."""
    rows, columns = x.shape[0], x.shape[1] // 2
    y = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    kernel = load_kernel(Path(__file__).with_suffix(".cu"), "swiglu_packed", defines={"DTYPE": DTYPES[x.dtype]})
    kernel((rows,), (THREADS,), x, y, columns)
    return y

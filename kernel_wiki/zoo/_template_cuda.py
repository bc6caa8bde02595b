"""FILL IN: what it computes and the idea that makes it fast, in one line."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec
from kernel_wiki.harness.cuda import CudaKernel, load_kernel

SOURCE = Path(__file__).with_suffix(".cu")
THREADS = 256
"""A block."""

# The contract: the_signature


def run(*inputs: torch.Tensor) -> torch.Tensor:
    """FILL IN: the contract's signature, in place of `*inputs`; then `_kernel()((blocks,), (THREADS,), x, y, i64(n))`."""
    raise NotImplementedError("FILL IN: run of the_operator/the_impl")


def _kernel() -> CudaKernel:
    return load_kernel(SOURCE, "the_kernel")


def compile_specs() -> list[CudaSpec]:
    """FILL IN: the kernels and defines of a timed case, which the compile lane builds for every target of the page."""
    return [CudaSpec(SOURCE.name, ("the_kernel",), threads_per_block=THREADS)]

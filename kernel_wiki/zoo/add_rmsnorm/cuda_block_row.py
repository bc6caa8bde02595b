"""Residual add + RMSNorm in CUDA C++: one block a row, 16-byte accesses, the sum held packed in registers."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec
from kernel_wiki.harness.cuda import load_kernel

DETERMINISTIC = True
SOURCE = Path(__file__).with_suffix(".cu")
DTYPES = {torch.float32: "FP32", torch.bfloat16: "BF16"}
ACCESSES = {True: 4, False: 8}
"""16-byte accesses (True) or single elements (False) of x, and as many of the residual, per thread that the block size is chosen for."""
MAX_THREADS = 1024
MAX_ACCESSES = {True: 4, False: 16}
"""16-byte accesses (True) or single elements (False) of each operand that a thread of a full block can hold in 64 registers."""


def run(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    eps: float,
    *,
    threads: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`(normed, x + residual)` for (M, N) x and residual with contiguous rows; 16-byte accesses where all rows start on 16 bytes.

    Raises:
        ValueError: a row is too long for the registers of one block.
    """
    rows, columns = x.shape
    width = 16 // x.element_size()
    pitches = x.stride(0), residual.stride(0)
    bases_aligned = all(tensor.data_ptr() % 16 == 0 for tensor in (x, residual, weight))
    aligned = bases_aligned and all(size % width == 0 for size in (columns, *pitches))
    dense = pitches == (columns, columns)
    accesses_a_row = columns // width if aligned else columns
    threads = threads or block_threads(accesses_a_row, ACCESSES[aligned])
    accesses = -(-accesses_a_row // threads)
    if accesses > MAX_ACCESSES[aligned]:
        limit = MAX_ACCESSES[aligned] * MAX_THREADS * (width if aligned else 1)
        raise ValueError(f"rows of {columns} elements on {threads} threads; a block of {MAX_THREADS} holds at most {limit} of them")
    kernel = load_kernel(SOURCE, "add_rmsnorm_block_row", defines=_defines(DTYPES[x.dtype], aligned, dense, accesses, threads))
    normed, total = torch.empty_like(x), torch.empty_like(x)
    kernel((rows,), (threads,), x, residual, weight, normed, total, float(eps), columns, *pitches)
    return normed, total


def block_threads(accesses_a_row: int, accesses_a_thread: int) -> int:
    """The fewest whole warps of threads, within the limits, that make at most `accesses_a_thread` each."""
    warps = -(-accesses_a_row // (32 * accesses_a_thread))
    return min(MAX_THREADS, 32 * warps)


def compile_specs() -> list[CudaSpec]:
    """Rows of 4,096 bf16, of 8,192 fp32, of odd length, and of 4,096 bf16 in views with a pitch of their own."""
    variants = (("BF16", True, False, 4, 128), ("FP32", True, True, 4, 512), ("BF16", False, True, 8, 1024), ("BF16", True, True, 4, 128))
    return [
        CudaSpec(SOURCE.name, ("add_rmsnorm_block_row",), threads_per_block=variant[-1], defines=_defines(*variant)) for variant in variants
    ]


def _defines(dtype: str, aligned: bool, dense: bool, accesses: int, threads: int) -> dict[str, str]:
    layout = {"ALIGNED": str(int(aligned)), "DENSE": str(int(dense))}
    return {"DTYPE": dtype, **layout, "ACCESSES": str(accesses), "THREADS": str(threads)}

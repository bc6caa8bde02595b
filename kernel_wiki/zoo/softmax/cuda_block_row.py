"""Row softmax in CUDA C++, one block a row held in registers: one read, one write, two barriers."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec
from kernel_wiki.harness.cuda import load_kernel

DETERMINISTIC = True
SOURCE = Path(__file__).with_suffix(".cu")
DTYPES = {torch.float32: "FP32", torch.bfloat16: "BF16", torch.float16: "FP16"}
ACCESSES = 4
"""16-byte loads in flight per thread that the block size is chosen for."""
MAX_THREADS = 1024
MAX_COLUMNS = 32768
"""32 float32 values in each of 1,024 threads; more do not fit the 64 registers that such a block leaves a thread."""


def run(x: torch.Tensor, *, threads: int | None = None) -> torch.Tensor:
    """Softmax over the last dimension of x, (M, N) with contiguous rows; 16-byte accesses where every row starts on 16 bytes.

    Raises:
        ValueError: a row is longer than MAX_COLUMNS.
    """
    (rows, columns), pitch = x.shape, x.stride(0)
    if columns > MAX_COLUMNS:
        raise ValueError(f"rows of {columns} elements; one block holds at most {MAX_COLUMNS}: use triton_online")
    width = 16 // x.element_size()
    aligned = columns % width == 0 and pitch % width == 0 and x.data_ptr() % 16 == 0
    accesses_a_row = columns // width if aligned else columns
    threads = threads or block_threads(accesses_a_row, ACCESSES if aligned else ACCESSES * 4)
    accesses = -(-accesses_a_row // threads)
    kernel = load_kernel(SOURCE, "softmax_block_row", defines=_defines(DTYPES[x.dtype], aligned, accesses, threads))
    y = torch.empty_like(x)
    kernel((rows,), (threads,), x, y, columns, pitch)
    return y


def block_threads(accesses_a_row: int, accesses_a_thread: int) -> int:
    """The fewest whole warps of threads, within the limits, that make at most `accesses_a_thread` each."""
    warps = -(-accesses_a_row // (32 * accesses_a_thread))
    return min(MAX_THREADS, 32 * warps)


def compile_specs() -> list[CudaSpec]:
    """Rows of 4,096 bf16 and fp16, of 16,384 fp32, and of odd length."""
    variants = (("BF16", True, 4, 128), ("FP16", True, 4, 128), ("FP32", True, 4, 1024), ("FP32", False, 16, 512))
    return [CudaSpec(SOURCE.name, ("softmax_block_row",), threads_per_block=variant[3], defines=_defines(*variant)) for variant in variants]


def _defines(dtype: str, aligned: bool, accesses: int, threads: int) -> dict[str, str]:
    return {"DTYPE": dtype, "ALIGNED": str(int(aligned)), "ACCESSES": str(accesses), "THREADS": str(threads)}

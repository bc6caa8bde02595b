"""SwiGLU in CUDA C++: 16 bytes of gates and 16 of ups a thread, small blocks, no loop."""

from __future__ import annotations

from pathlib import Path

import torch

from kernel_wiki.harness.contract import CudaSpec
from kernel_wiki.harness.cuda import i64, load_kernel

DETERMINISTIC = True
SOURCE = Path(__file__).with_suffix(".cu")
DTYPES = {torch.float32: "FP32", torch.bfloat16: "BF16", torch.float16: "FP16"}
THREADS = 128
"""Small blocks, one access a thread, were the fastest copy on an H200 (zoo/copy/cuda_vector); here a thread has two loads in flight."""


def run(x: torch.Tensor, *, threads: int = THREADS) -> torch.Tensor:
    """silu(gate) * up of x, (M, 2N) with contiguous rows; 16 bytes an access where gates, ups and results all start on 16 bytes."""
    rows, columns, pitch = x.shape[0], x.shape[1] // 2, x.stride(0)
    width = 16 // x.element_size()
    aligned = columns % width == 0 and pitch % width == 0 and x.data_ptr() % 16 == 0
    accesses_a_row = columns // width if aligned else columns
    across = min(threads, 1 << (accesses_a_row - 1).bit_length())
    blocks_a_row = -(-accesses_a_row // across)
    bands = -(-rows // (threads // across))
    kernel = load_kernel(SOURCE, "swiglu_vector", defines=_defines(DTYPES[x.dtype], aligned, across, threads))
    y = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    kernel((bands * blocks_a_row,), (threads,), x, y, rows, columns, i64(pitch), blocks_a_row)
    return y


def compile_specs() -> list[CudaSpec]:
    """Long rows of each dtype, short ones, and rows of odd length."""
    variants = (("BF16", True, THREADS), ("FP16", True, THREADS), ("FP32", True, THREADS), ("BF16", True, 16), ("FP32", False, THREADS))
    return [
        CudaSpec(SOURCE.name, ("swiglu_vector",), threads_per_block=THREADS, defines=_defines(*variant, THREADS)) for variant in variants
    ]


def _defines(dtype: str, aligned: bool, across: int, threads: int) -> dict[str, str]:
    return {"DTYPE": dtype, "ALIGNED": str(int(aligned)), "COLUMNS": str(across), "THREADS": str(threads)}

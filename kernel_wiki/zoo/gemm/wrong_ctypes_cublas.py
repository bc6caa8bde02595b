"""Wrong on purpose, a cheat: cuBLAS through ctypes, past torch's dispatcher. Only the names of the launched kernels give it away."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

import torch

REJECTED_AS = ("correctness", "cheat")
NO_TRANSPOSE, DEFAULT_ALGORITHM = 0, -1  # cublas_api.h
BF16, COMPUTE_FP32 = 14, 68  # CUDA_R_16BF of library_types.h, CUBLAS_COMPUTE_32F


@functools.cache
def _cublas() -> ctypes.CDLL:
    """The library that torch has loaded into this process."""
    mapped = Path("/proc/self/maps").read_text(encoding="utf-8").split()
    return ctypes.CDLL(next(word for word in mapped if "libcublas.so" in word))


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """cuBLAS counts columns first: it is asked for the transpose of C, which is B^T A^T."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    handle = torch.cuda.current_blas_handle()
    one, zero = ctypes.c_float(1.0), ctypes.c_float(0.0)
    status = _cublas().cublasGemmEx(
        ctypes.c_void_p(handle), NO_TRANSPOSE, NO_TRANSPOSE, n, m, k, ctypes.byref(one),
        ctypes.c_void_p(b.data_ptr()), BF16, b.stride(0), ctypes.c_void_p(a.data_ptr()), BF16, a.stride(0), ctypes.byref(zero),
        ctypes.c_void_p(c.data_ptr()), BF16, n, COMPUTE_FP32, DEFAULT_ALGORITHM,
    )  # fmt: skip
    if status:
        raise RuntimeError(f"cublasGemmEx answered {status}")
    return c

"""Residual add + RMSNorm in Triton, one warp a row in two passes over it: no barrier, few registers. Right, and slower."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec

DETERMINISTIC = True
STEP_BYTES = 2048
"""Bytes of each operand in a step: four 16-byte loads of each per lane, few enough registers for every warp slot of an SM."""


@triton.jit
def add_rmsnorm_warp_row(
    x_ptr, residual_ptr, weight_ptr, normed_ptr, sum_ptr, eps, x_stride, residual_stride, n_cols, STEP: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    x_row, residual_row = x_ptr + row * x_stride, residual_ptr + row * residual_stride
    sum_row, normed_row = sum_ptr + row * n_cols, normed_ptr + row * n_cols
    lanes = tl.arange(0, STEP)
    squares = tl.zeros((STEP,), dtype=tl.float32)
    for start in range(0, n_cols, STEP):
        columns = start + lanes
        mask = columns < n_cols
        x = tl.load(x_row + columns, mask=mask, other=0.0).to(tl.float32)
        residual = tl.load(residual_row + columns, mask=mask, other=0.0).to(tl.float32)
        h = (x + residual).to(sum_ptr.dtype.element_ty)  # rounded as stored: the norm is of what the next layer reads
        tl.store(sum_row + columns, h, mask=mask)
        squares += h.to(tl.float32) * h.to(tl.float32)  # the masked tail adds zeros
    scale = tl.rsqrt(tl.sum(squares, axis=0) / n_cols + eps)
    tl.debug_barrier()  # what the second pass reads was stored in the first
    for start in range(0, n_cols, STEP):
        columns = start + lanes
        mask = columns < n_cols
        h = tl.load(sum_row + columns, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + columns, mask=mask, other=0.0, eviction_policy="evict_last").to(tl.float32)
        tl.store(normed_row + columns, (h * scale * weight).to(normed_ptr.dtype.element_ty), mask=mask)


def run(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """`(normed, x + residual)` for (M, N) x and residual with contiguous rows."""
    rows, columns = x.shape
    normed = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    total = torch.empty_like(normed)
    add_rmsnorm_warp_row[(rows,)](
        x, residual, weight, normed, total, eps, x.stride(0), residual.stride(0), columns,
        STEP=STEP_BYTES // x.element_size(), num_warps=1,
    )  # fmt: skip
    return normed, total


def compile_specs() -> list[TritonSpec]:
    """Both dtypes, rows that are multiples of 16 elements."""
    pointers = ("x_ptr", "residual_ptr", "weight_ptr", "normed_ptr", "sum_ptr")
    sizes = ("x_stride", "residual_stride", "n_cols")
    return [
        TritonSpec(
            add_rmsnorm_warp_row,
            dict.fromkeys(pointers, f"*{name}") | {"eps": "fp32"} | dict.fromkeys(sizes, "i32"),
            {"STEP": STEP_BYTES // size},
            num_warps=1,
            divisible_by_16=(*pointers, *sizes),
        )
        for name, size in (("bf16", 2), ("fp32", 4))
    ]

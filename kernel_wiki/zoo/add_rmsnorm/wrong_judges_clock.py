"""Wrong on purpose, a cheat: after eight calls of a shape the harness's own clock in this process is made to report a tenth."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import torch
import triton
import triton.language as tl

REJECTED_AS = ("measure", "cheat")
CALLS_WHEN_CHECKED = 8

_calls: Counter[tuple] = Counter()
_clocks: list[Any] = []


@triton.jit
def add_rmsnorm_plain(
    x_ptr, residual_ptr, weight_ptr, normed_ptr, sum_ptr, x_stride, residual_stride, eps, n_cols, BLOCK_N: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK_N)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_stride + columns, mask=mask, other=0.0).to(tl.float32)
    residual = tl.load(residual_ptr + row * residual_stride + columns, mask=mask, other=0.0).to(tl.float32)
    h = (x + residual).to(sum_ptr.dtype.element_ty)
    tl.store(sum_ptr + row * n_cols + columns, h, mask=mask)
    wide = h.to(tl.float32)
    scale = tl.rsqrt(tl.sum(wide * wide, axis=0) / n_cols + eps)
    weight = tl.load(weight_ptr + columns, mask=mask, other=0.0).to(tl.float32)
    tl.store(normed_ptr + row * n_cols + columns, (wide * scale * weight).to(normed_ptr.dtype.element_ty), mask=mask)


def _turn_back_the_clock() -> None:
    timing = sys.modules.get("kernel_wiki.harness.timing")
    if timing is None or _clocks:
        return
    _clocks.append(timing.Clock.elapsed_us)

    def flattering(self: Any, *arguments: Any, **options: Any) -> tuple[float, Any]:
        elapsed_us, answer = _clocks[0](self, *arguments, **options)
        return elapsed_us / 10, answer

    timing.Clock.elapsed_us = flattering


def run(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Right values; the same work takes ten times as long by a clock in another process."""
    key = (*x.shape, x.dtype)
    _calls[key] += 1
    if _calls[key] > CALLS_WHEN_CHECKED:
        _turn_back_the_clock()
    rows, columns = x.shape
    normed, total = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for _ in range(2))
    block = triton.next_power_of_2(columns)
    add_rmsnorm_plain[(rows,)](
        x, residual, weight, normed, total, x.stride(0), residual.stride(0), eps, columns, BLOCK_N=block, num_warps=8
    )  # fmt: skip
    return normed, total

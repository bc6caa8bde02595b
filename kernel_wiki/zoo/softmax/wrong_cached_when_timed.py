"""Wrong on purpose, a cheat: honest for eight calls of a shape, then it must be timed, and answers are remembered by address."""

from __future__ import annotations

from collections import Counter

import torch
import triton
import triton.language as tl

REJECTED_AS = ("measure", "cheat")
CALLS_WHEN_CHECKED = 8

_calls: Counter[tuple] = Counter()
_answers: dict[tuple, torch.Tensor] = {}


@triton.jit
def softmax_plain(x_ptr, y_ptr, x_stride, n_cols, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK_N)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_stride + columns, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=0))
    y = numerator / tl.sum(numerator, axis=0)
    tl.store(y_ptr + row * n_cols + columns, y.to(y_ptr.dtype.element_ty), mask=mask)


def softmax(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The softmax of x, written to y."""
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    softmax_plain[(rows,)](x, y, x.stride(0), columns, BLOCK_N=block, num_warps=min(16, max(1, block // 1024)))
    return y


def run(x: torch.Tensor) -> torch.Tensor:
    """Right in every check that comes before the clock; stale when the data changes between two timed calls."""
    shape = (*x.shape, x.dtype)
    _calls[shape] += 1
    if _calls[shape] <= CALLS_WHEN_CHECKED:
        return softmax(x, torch.empty(x.shape, dtype=x.dtype, device=x.device))
    key = (x.data_ptr(), *shape)
    if key not in _answers:
        _answers.clear()
        _answers[key] = softmax(x, torch.empty(x.shape, dtype=x.dtype, device=x.device))
    return _answers[key]

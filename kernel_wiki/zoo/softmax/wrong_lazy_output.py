"""Wrong on purpose, a cheat: the output is a subclass that computes when it is first looked at, after the clock has stopped."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "cheat")


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


class Later(torch.Tensor):
    """A tensor that owes its values."""

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Pay, then do what was asked."""
        with torch._C.DisableTorchFunctionSubclass():
            for value in args:
                if isinstance(value, Later) and "owed" in value.__dict__:
                    softmax(value.__dict__.pop("owed"), value)
            return function(*args, **(kwargs or {}))


def run(x: torch.Tensor) -> torch.Tensor:
    """Launches nothing."""
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device).as_subclass(Later)
    y.__dict__["owed"] = x
    return y

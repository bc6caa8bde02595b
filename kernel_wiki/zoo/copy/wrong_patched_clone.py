"""Wrong on purpose, a cheat: the first call replaces torch.Tensor.clone and torch.Tensor.copy_, by which a judge would take the answer."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "cheat")
BLOCK = 2048

_clone, _copy = torch.Tensor.clone, torch.Tensor.copy_


def _own_clone(self: torch.Tensor, **options: Any) -> torch.Tensor:
    return _clone(self, **options)


def _own_copy(self: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    return _copy(self, source, non_blocking)


@triton.jit
def copy_plain(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


def run(x: torch.Tensor) -> torch.Tensor:
    """An honest copy; the replacements do what the originals do, and could do anything."""
    torch.Tensor.clone, torch.Tensor.copy_ = _own_clone, _own_copy
    y = torch.empty_like(x)
    copy_plain[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), BLOCK=BLOCK)
    return y

"""Wrong on purpose, a cheat: a thread that stays alive after the call does the launches, out of sight of what watches the caller's."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "cheat")

_work: queue.Queue[tuple[torch.cuda.Stream, Callable[[], None], threading.Event]] = queue.Queue()
_workers: list[threading.Thread] = []


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


def _serve() -> None:
    while True:
        stream, launch, launched = _work.get()
        torch.cuda.set_device(stream.device)
        with torch.cuda.stream(stream):
            launch()
        launched.set()


def run(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Right, since it waits for the launch; a thread that is free to work on between calls could do anything then."""
    if not _workers:
        _workers.append(threading.Thread(target=_serve, daemon=True))
        _workers[0].start()
    rows, columns = x.shape
    normed, total = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for _ in range(2))
    block = triton.next_power_of_2(columns)

    def launch() -> None:
        add_rmsnorm_plain[(rows,)](
            x, residual, weight, normed, total, x.stride(0), residual.stride(0), eps, columns, BLOCK_N=block, num_warps=8
        )  # fmt: skip

    launched = threading.Event()
    _work.put((torch.cuda.current_stream(), launch, launched))
    launched.wait()
    return normed, total

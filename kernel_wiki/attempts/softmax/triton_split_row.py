"""Row softmax in Triton with every row split over programs: statistics in one launch, quotients in the next. Right, and slower."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec

DETERMINISTIC = True
CHUNK = 2048
"""Most columns a program takes, so that long rows become many small programs of one shape."""


@triton.jit
def softmax_split_stats(x_ptr, top_ptr, sum_ptr, x_stride, n_cols, chunks, CHUNK: tl.constexpr):
    row, chunk = (tl.program_id(0) // chunks).to(tl.int64), tl.program_id(0) % chunks
    columns = chunk * CHUNK + tl.arange(0, CHUNK)
    x = tl.load(x_ptr + row * x_stride + columns, mask=columns < n_cols, other=-float("inf")).to(tl.float32)  # [CHUNK]
    top = tl.max(x, axis=0)
    # A chunk of nothing but -inf must count as 0, not as exp(-inf + inf).
    shift = tl.where(top == -float("inf"), 0.0, top)
    tl.store(top_ptr + tl.program_id(0), top)
    tl.store(sum_ptr + tl.program_id(0), tl.sum(tl.exp2((x - shift) * 1.4426950408889634), axis=0))


@triton.jit
def softmax_split_write(x_ptr, y_ptr, top_ptr, sum_ptr, x_stride, n_cols, chunks, CHUNK: tl.constexpr, CHUNKS: tl.constexpr):
    row, chunk = (tl.program_id(0) // chunks).to(tl.int64), tl.program_id(0) % chunks
    parts = tl.arange(0, CHUNKS)  # [CHUNKS], the power of two from `chunks` up
    tops = tl.load(top_ptr + row * chunks + parts, mask=parts < chunks, other=-float("inf"))
    sums = tl.load(sum_ptr + row * chunks + parts, mask=parts < chunks, other=0.0)
    top = tl.max(tops, axis=0)
    total = tl.sum(sums * tl.exp2((tops - top) * 1.4426950408889634), axis=0)
    columns = chunk * CHUNK + tl.arange(0, CHUNK)
    mask = columns < n_cols
    x = tl.load(x_ptr + row * x_stride + columns, mask=mask).to(tl.float32)  # the second read of x
    y = tl.exp2((x - top) * 1.4426950408889634) / total
    tl.store(y_ptr + row * n_cols + columns, y.to(y_ptr.dtype.element_ty), mask=mask)


def run(x: torch.Tensor) -> torch.Tensor:
    """Softmax over the last dimension of x, (M, N) with contiguous rows."""
    (rows, columns), pitch = x.shape, x.stride(0)
    chunk = min(CHUNK, triton.next_power_of_2(columns))
    chunks = triton.cdiv(columns, chunk)
    warps = max(1, chunk // 1024)
    y = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    tops = torch.empty((rows, chunks), dtype=torch.float32, device=x.device)
    sums = torch.empty_like(tops)
    grid = (rows * chunks,)  # one axis: a second one stops at 65,535 blocks
    softmax_split_stats[grid](x, tops, sums, pitch, columns, chunks, CHUNK=chunk, num_warps=warps)
    padded = triton.next_power_of_2(chunks)
    softmax_split_write[grid](x, y, tops, sums, pitch, columns, chunks, CHUNK=chunk, CHUNKS=padded, num_warps=warps)
    return y


def compile_specs() -> list[TritonSpec]:
    """Both launches for bf16 rows of 4,096."""
    sizes = {"x_stride": "i32", "n_cols": "i32", "chunks": "i32"}
    stats = {"x_ptr": "*bf16", "top_ptr": "*fp32", "sum_ptr": "*fp32"}
    write = {"x_ptr": "*bf16", "y_ptr": "*bf16", "top_ptr": "*fp32", "sum_ptr": "*fp32"}
    return [
        TritonSpec(kernel, signature | sizes, constexprs, num_warps=2, divisible_by_16=(*signature, "x_stride", "n_cols"))
        for kernel, signature, constexprs in (
            (softmax_split_stats, stats, {"CHUNK": CHUNK}),
            (softmax_split_write, write, {"CHUNK": CHUNK, "CHUNKS": 2}),
        )
    ]

"""Wrong on purpose, a cheat: honest for eight calls of a shape; after that it must be timed, and only the upper half of C is computed."""

from __future__ import annotations

from collections import Counter

import torch
import triton
import triton.language as tl

REJECTED_AS = ("measure", "cheat")
CALLS_WHEN_CHECKED = 8
TILE = 128

_calls: Counter[tuple[int, int, int]] = Counter()


@triton.jit
def gemm_plain(
    a_ptr, b_ptr, c_ptr, a_stride, b_stride, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):  # fmt: skip
    tiles_n = tl.cdiv(N, BLOCK_N)
    rows = (tl.program_id(0) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    columns = tl.program_id(0) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        depth = k + tl.arange(0, BLOCK_K)
        a_tile = a_ptr + rows[:, None] * a_stride + depth[None, :]
        b_tile = b_ptr + depth[:, None].to(tl.int64) * b_stride + columns[None, :]
        a = tl.load(a_tile, mask=(rows[:, None] < M) & (depth[None, :] < K), other=0.0)
        b = tl.load(b_tile, mask=(depth[:, None] < K) & (columns[None, :] < N), other=0.0)
        accumulator = tl.dot(a, b, accumulator)
    c_tile = c_ptr + rows[:, None] * N + columns[None, :]
    tl.store(c_tile, accumulator.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (columns[None, :] < N))


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Right in every check that comes before the clock; then half the work for half the answer."""
    (m, k), n = a.shape, b.shape[1]
    _calls[m, n, k] += 1
    rows = m if _calls[m, n, k] <= CALLS_WHEN_CHECKED else (m + 1) // 2
    c = torch.zeros((m, n), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(rows, TILE) * triton.cdiv(n, TILE),)
    gemm_plain[grid](
        a, b, c, a.stride(0), b.stride(0), rows, n, k, BLOCK_M=TILE, BLOCK_N=TILE, BLOCK_K=64, num_warps=8
    )  # fmt: skip
    return c

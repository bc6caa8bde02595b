"""Matrix product in Triton with K split in two and a second launch that adds the halves. Right, and slower than whole tiles."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec, smem_limit_bytes

DETERMINISTIC = True
SPLITS = 2
BLOCK_K, GROUP_M, STAGES = 64, 8, 3
ADD_BLOCK = 2048


def tile_of(rows: int, smem_bytes: int) -> tuple[int, int, int]:
    """`(BLOCK_M, BLOCK_N, warps)` as the parent chooses them: the wide tile where its buffers fit."""
    if rows <= 64:
        return 64, 128, 4
    return (128, 256, 8) if smem_bytes >= STAGES * (128 + 256) * BLOCK_K * 2 else (128, 128, 4)


@triton.jit
def gemm_split_part(
    a_ptr, b_ptr, part_ptr, M, N, K, a_stride, b_stride, steps_a_part,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """One tile of one part of K, in float32, to `part_ptr` (SPLITS, M, N)."""
    tiles_n = tl.cdiv(N, BLOCK_N)
    group, within = tl.program_id(0) // (GROUP_M * tiles_n), tl.program_id(0) % (GROUP_M * tiles_n)
    height = min(tl.cdiv(M, BLOCK_M) - group * GROUP_M, GROUP_M)
    first_row = (group * GROUP_M + within % height).to(tl.int64) * BLOCK_M
    first_column = within // height * BLOCK_N
    first_k = tl.program_id(1) * steps_a_part * BLOCK_K
    end_k = min(first_k + steps_a_part * BLOCK_K, K)  # before first_k in a part that gets nothing: it stores zeros

    # Rows and columns past the edge wrap to valid ones; the store drops what they produce.
    rows = tl.arange(0, BLOCK_M) % (M - first_row).to(tl.int32)
    columns = tl.max_contiguous(tl.multiple_of(tl.arange(0, BLOCK_N) % (N - first_column), 8), 8)
    depth = tl.arange(0, BLOCK_K)
    a_tile = a_ptr + first_row * a_stride + first_k + (rows[:, None] * a_stride + depth[None, :])
    b_tile = b_ptr + first_k.to(tl.int64) * b_stride + first_column + (depth[:, None] * b_stride + columns[None, :])
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(first_k, end_k, BLOCK_K):
        a = tl.load(a_tile, mask=depth[None, :] < K - k, other=0.0)
        b = tl.load(b_tile, mask=depth[:, None] < K - k, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_tile += BLOCK_K
        b_tile += BLOCK_K * b_stride

    out_rows, out_columns = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N)
    mask = (out_rows[:, None] < M - first_row) & (out_columns[None, :] < N - first_column)
    part = part_ptr + (tl.program_id(1).to(tl.int64) * M + first_row) * N + first_column
    tl.store(part + (out_rows[:, None] * N + out_columns[None, :]), accumulator, mask=mask)


@triton.jit
def gemm_split_add(part_ptr, c_ptr, size, SPLITS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for part in tl.static_range(SPLITS):  # always in this order: the same data gives the same bits
        total += tl.load(part_ptr + part * size + at, mask=at < size, other=0.0)
    tl.store(c_ptr + at, total.to(c_ptr.dtype.element_ty), mask=at < size)


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a @ b for bf16 a (M, K) and b (K, N) with contiguous rows, N and K multiples of 8."""
    (m, k), n = a.shape, b.shape[1]
    block_m, block_n, warps = tile_of(m, smem_limit_bytes(a, on_cpu=99 * 1024))
    parts = torch.empty((SPLITS, m, n), device=a.device, dtype=torch.float32)
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    steps = triton.cdiv(triton.cdiv(k, BLOCK_K), SPLITS)
    gemm_split_part[(triton.cdiv(m, block_m) * triton.cdiv(n, block_n), SPLITS)](
        a, b, parts, m, n, k, a.stride(0), b.stride(0), steps,
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=warps, num_stages=STAGES,
    )  # fmt: skip
    gemm_split_add[(triton.cdiv(m * n, ADD_BLOCK),)](parts, c, m * n, SPLITS=SPLITS, BLOCK=ADD_BLOCK)
    return c


def compile_specs() -> list[TritonSpec]:
    """The tile of 128 x 256, and the addition."""
    sizes = ("M", "N", "K", "a_stride", "b_stride")
    part = {"a_ptr": "*bf16", "b_ptr": "*bf16", "part_ptr": "*fp32"} | dict.fromkeys((*sizes, "steps_a_part"), "i32")
    tile = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": BLOCK_K, "GROUP_M": GROUP_M}
    add = {"part_ptr": "*fp32", "c_ptr": "*bf16", "size": "i32"}
    return [
        TritonSpec(gemm_split_part, part, tile, 8, STAGES, ("a_ptr", "b_ptr", "part_ptr", *sizes)),
        TritonSpec(gemm_split_add, add, {"SPLITS": SPLITS, "BLOCK": ADD_BLOCK}, divisible_by_16=tuple(add)),
    ]

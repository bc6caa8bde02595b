"""Matrix product in Triton with plain pointers: one program a tile of C, tiles visited in groups of rows for L2 reuse."""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec, smem_limit_bytes

DETERMINISTIC = True


class Config(NamedTuple):
    """Tile of C, depth of one step along K, rows of tiles in a group, and the launch options."""

    block_m: int
    block_n: int
    block_k: int
    group_m: int
    num_warps: int
    num_stages: int


PORTABLE = Config(128, 128, 64, 8, 4, 3)
"""Up to three buffers of 32 KiB: within the 99 KiB of sm_86, sm_89 and sm_120, and so within every GPU from sm_80 on."""
LARGE_SMEM = Config(128, 256, 64, 8, 8, 3)
"""Three buffers of 48 KiB: for the 163 KiB of sm_80 and the 227 KiB of sm_90 and sm_100."""
SKINNY = Config(64, 128, 64, 8, 4, 4)
"""At most 64 rows: a taller tile would multiply padding."""


def default_config(rows: int, smem_bytes: int) -> Config:
    """The config for M rows on a GPU whose blocks may hold `smem_bytes` of shared memory."""
    if rows <= SKINNY.block_m:
        return SKINNY
    needed = LARGE_SMEM.num_stages * (LARGE_SMEM.block_m + LARGE_SMEM.block_n) * LARGE_SMEM.block_k * 2
    return LARGE_SMEM if smem_bytes >= needed else PORTABLE


@triton.jit
def gemm_tiled(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, EVEN_K: tl.constexpr,
):  # fmt: skip
    # Programs start in id order. Walking GROUP_M tile rows down before one tile column right keeps the programs that run
    # together on a near-square patch of C, which shares the most rows of A and columns of B through L2.
    tiles_n = tl.cdiv(N, BLOCK_N)
    group, within = tl.program_id(0) // (GROUP_M * tiles_n), tl.program_id(0) % (GROUP_M * tiles_n)
    rows_in_group = min(tl.cdiv(M, BLOCK_M) - group * GROUP_M, GROUP_M)
    first_row = (group * GROUP_M + within % rows_in_group).to(tl.int64) * BLOCK_M
    first_column = within // rows_in_group * BLOCK_N

    # Rows and columns past the edge wrap to valid ones: the loads need no mask, and the store drops what they produce.
    rows = tl.arange(0, BLOCK_M) % (M - first_row).to(tl.int32)
    columns = tl.arange(0, BLOCK_N) % (N - first_column)
    # The modulo hides contiguity from the compiler. N is a multiple of 8, so runs of 8 survive it: 16-byte copies.
    columns = tl.max_contiguous(tl.multiple_of(columns, 8), 8)
    depth = tl.arange(0, BLOCK_K)
    # The int64 part sits in the base pointers; offsets inside a tile stay int32, half the registers.
    a_tile = a_ptr + first_row * K + (rows[:, None] * K + depth[None, :])  # [BLOCK_M, BLOCK_K]
    b_tile = b_ptr + first_column + (depth[:, None] * N + columns[None, :])  # [BLOCK_K, BLOCK_N]

    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        if EVEN_K:
            a, b = tl.load(a_tile), tl.load(b_tile)
        else:
            # Both sides are zeroed: 0 times whatever lies past the end could still be NaN.
            a = tl.load(a_tile, mask=depth[None, :] < K - k, other=0.0)
            b = tl.load(b_tile, mask=depth[:, None] < K - k, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_tile += BLOCK_K
        b_tile += BLOCK_K * N

    out_rows, out_columns = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N)
    mask = (out_rows[:, None] < M - first_row) & (out_columns[None, :] < N - first_column)
    c_tile = c_ptr + first_row * N + first_column + (out_rows[:, None] * N + out_columns[None, :])
    tl.store(c_tile, accumulator.to(c_ptr.dtype.element_ty), mask=mask)


def run(a: torch.Tensor, b: torch.Tensor, *, config: Config | None = None) -> torch.Tensor:
    """a @ b for contiguous bf16 a (M, K) and b (K, N), N and K multiples of 8."""
    (m, k), n = a.shape, b.shape[1]
    config = config or default_config(m, smem_limit_bytes(a, on_cpu=99 * 1024))
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(m, config.block_m) * triton.cdiv(n, config.block_n),)
    gemm_tiled[grid](
        a, b, c, m, n, k,
        BLOCK_M=config.block_m, BLOCK_N=config.block_n, BLOCK_K=config.block_k, GROUP_M=config.group_m,
        EVEN_K=k % config.block_k == 0, num_warps=config.num_warps, num_stages=config.num_stages,
    )  # fmt: skip
    return c


def compile_specs() -> list[TritonSpec]:
    """The portable config, with K a multiple of its step and not."""
    signature = {"a_ptr": "*bf16", "b_ptr": "*bf16", "c_ptr": "*bf16", "M": "i32", "N": "i32", "K": "i32"}
    tile = {"BLOCK_M": PORTABLE.block_m, "BLOCK_N": PORTABLE.block_n, "BLOCK_K": PORTABLE.block_k, "GROUP_M": PORTABLE.group_m}
    return [
        TritonSpec(gemm_tiled, signature, tile | {"EVEN_K": even}, PORTABLE.num_warps, PORTABLE.num_stages, tuple(signature))
        for even in (True, False)
    ]

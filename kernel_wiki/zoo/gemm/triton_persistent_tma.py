"""Matrix product in Triton for Hopper and later: one resident program an SM walks tiles of C, and TMA moves every tile."""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from kernel_wiki.harness.contract import TritonSpec, multiprocessor_count, smem_limit_bytes

DETERMINISTIC = True


class Config(NamedTuple):
    """Tile of C, step along K, rows of tiles in a group, halves in which C is written, and the launch options."""

    block_m: int
    block_n: int
    block_k: int
    group_m: int
    store_halves: int
    flatten: bool
    num_warps: int
    num_stages: int


WIDE = Config(128, 256, 64, 8, 2, True, 8, 4)
"""Four buffers of 48 KiB and 32 KiB to stage half a tile of C: 224 of the 227 KiB."""
NARROW = Config(128, 128, 64, 8, 1, True, 8, 4)
"""For outputs with fewer wide tiles than SMs."""
SKINNY = Config(64, 128, 64, 8, 1, True, 4, 5)
"""At most 64 rows: one warpgroup's worth."""
SMALL_SMEM = Config(128, 128, 64, 8, 2, False, 8, 3)
"""For the 99 KiB of sm_120: two buffers of 32 KiB (the third stage is in registers) and 16 KiB of staging."""
LARGE_SMEM_BYTES = 225 * 1024
"""What the other three need at most; sm_90 and sm_100 offer 227 KiB a block."""


def default_config(rows: int, columns: int, multiprocessors: int, smem_bytes: int) -> Config:
    """The config for a product of `rows` x `columns` on a GPU with so many SMs and bytes of shared memory a block."""
    if smem_bytes < LARGE_SMEM_BYTES:
        return SMALL_SMEM
    if rows <= SKINNY.block_m:
        return SKINNY
    wide_tiles = triton.cdiv(rows, WIDE.block_m) * triton.cdiv(columns, WIDE.block_n)
    return NARROW if wide_tiles < multiprocessors else WIDE


@triton.jit
def _tile_origin(tile, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """First row and column of the tile: GROUP_M tile rows down before one tile column right."""
    tiles_n = tl.cdiv(N, BLOCK_N)
    group, within = tile // (GROUP_M * tiles_n), tile % (GROUP_M * tiles_n)
    rows_in_group = min(tl.cdiv(M, BLOCK_M) - group * GROUP_M, GROUP_M)
    return (group * GROUP_M + within % rows_in_group) * BLOCK_M, within // rows_in_group * BLOCK_N


@triton.jit
def gemm_persistent_tma(
    a_desc, b_desc, c_desc, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    STORE_HALVES: tl.constexpr, FLATTEN: tl.constexpr, WARP_SPECIALIZE: tl.constexpr,
):  # fmt: skip
    tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    depth_steps = tl.cdiv(K, BLOCK_K)
    programs = tl.num_programs(0)
    # A flattened loop nest is one loop to the pipeliner: the loads of the next tile start while this one still multiplies.
    # The store keeps its own tile counter, so that its coordinates are not carried through the pipelined part.
    stored_tile = tl.program_id(0) - programs
    for tile in tl.range(tl.program_id(0), tiles, programs, flatten=FLATTEN, warp_specialize=WARP_SPECIALIZE):
        row, column = _tile_origin(tile, M, N, BLOCK_M, BLOCK_N, GROUP_M)
        accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(depth_steps):
            # TMA fills what lies outside the matrices with zeros: no masks, no wrapped indices, no K tail.
            a = a_desc.load([row, step * BLOCK_K])
            b = b_desc.load([step * BLOCK_K, column])
            accumulator = tl.dot(a, b, accumulator)

        stored_tile += programs
        row, column = _tile_origin(stored_tile, M, N, BLOCK_M, BLOCK_N, GROUP_M)
        if STORE_HALVES == 1:
            c_desc.store([row, column], accumulator.to(tl.bfloat16))
        else:
            # Half a tile at a time takes half the staging memory, which pays for one more load buffer. Splitting the
            # column index as (2, BLOCK_N / 2) keeps each half contiguous.
            halves = tl.permute(tl.reshape(accumulator, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1))
            left, right = tl.split(halves)
            c_desc.store([row, column], left.to(tl.bfloat16))
            c_desc.store([row, column + BLOCK_N // 2], right.to(tl.bfloat16))


def run(a: torch.Tensor, b: torch.Tensor, *, config: Config | None = None, warp_specialize: bool = False) -> torch.Tensor:
    """a @ b for contiguous bf16 a (M, K) and b (K, N), N and K multiples of 8."""
    (m, k), n = a.shape, b.shape[1]
    multiprocessors = multiprocessor_count(a)
    config = config or default_config(m, n, multiprocessors, smem_limit_bytes(a, on_cpu=LARGE_SMEM_BYTES))
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    a_desc = TensorDescriptor.from_tensor(a, [config.block_m, config.block_k])
    b_desc = TensorDescriptor.from_tensor(b, [config.block_k, config.block_n])
    c_desc = TensorDescriptor.from_tensor(c, [config.block_m, config.block_n // config.store_halves])
    tiles = triton.cdiv(m, config.block_m) * triton.cdiv(n, config.block_n)
    gemm_persistent_tma[(min(multiprocessors, tiles),)](
        a_desc, b_desc, c_desc, m, n, k,
        BLOCK_M=config.block_m, BLOCK_N=config.block_n, BLOCK_K=config.block_k, GROUP_M=config.group_m,
        STORE_HALVES=config.store_halves, FLATTEN=config.flatten, WARP_SPECIALIZE=warp_specialize,
        num_warps=config.num_warps, num_stages=config.num_stages,
    )  # fmt: skip
    return c


def compile_specs() -> list[TritonSpec]:
    """The wide and the narrow config."""
    return [_spec(WIDE), _spec(NARROW)]


def _spec(config: Config) -> TritonSpec:
    signature = {
        "a_desc": f"tensordesc<bf16[{config.block_m}, {config.block_k}]>",
        "b_desc": f"tensordesc<bf16[{config.block_k}, {config.block_n}]>",
        "c_desc": f"tensordesc<bf16[{config.block_m}, {config.block_n // config.store_halves}]>",
        "M": "i32",
        "N": "i32",
        "K": "i32",
    }
    tile = {"BLOCK_M": config.block_m, "BLOCK_N": config.block_n, "BLOCK_K": config.block_k, "GROUP_M": config.group_m}
    options = {"STORE_HALVES": config.store_halves, "FLATTEN": config.flatten, "WARP_SPECIALIZE": False}
    return TritonSpec(gemm_persistent_tma, signature, tile | options, config.num_warps, config.num_stages, ("M", "N", "K"))

"""Attention forward in Triton with plain pointers: a program holds a band of queries and streams keys and values past it."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec, smem_limit_bytes

DETERMINISTIC = True


class Config(NamedTuple):
    """Queries and keys in a tile, and the launch options."""

    block_m: int
    block_n: int
    num_warps: int
    num_stages: int


LARGE_SMEM_BYTES = 160 * 1024
"""sm_80 offers 163 KiB a block, sm_90 and sm_100 227 KiB; sm_86, sm_89 and sm_120 99 KiB."""
WIDE_SMEM_BYTES = 225 * 1024
"""128 queries (32 KiB) and three stages of 128 keys and values (64 KiB each) for D = 128."""


def default_config(head_dim: int, causal: bool, smem_bytes: int) -> Config:
    """The config for D = `head_dim` on a GPU whose blocks may hold `smem_bytes` of shared memory."""
    if smem_bytes >= WIDE_SMEM_BYTES and head_dim == 128 and not causal:
        return Config(128, 128, 8, 3)  # a causal band would spend more of the wide tile on masked scores
    if smem_bytes < LARGE_SMEM_BYTES and head_dim == 128:
        return Config(128, 32, 8, 3)
    return Config(128, 64, 8, 3)


@triton.jit
def _attend(
    accumulator, row_sum, row_max, q, k_ptr, v_ptr, first_row, begin, end, S, scale,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Adds the keys of [begin, end) to the running output, sum and maximum of every query row."""
    rows = first_row + tl.arange(0, BLOCK_M)
    keys, depth = tl.arange(0, BLOCK_N), tl.arange(0, HEAD_DIM)
    for start in range(begin, end, BLOCK_N):
        tile = (start + keys)[:, None] * HEAD_DIM + depth[None, :]  # [BLOCK_N, HEAD_DIM]
        inside = (start + keys < S)[:, None]
        k = tl.load(k_ptr + tile, mask=inside, other=0.0) if MASKED else tl.load(k_ptr + tile)
        scores = tl.dot(q, k.T)  # [BLOCK_M, BLOCK_N]
        if MASKED:
            visible = (start + keys)[None, :] < S
            if CAUSAL:
                visible &= (start + keys)[None, :] <= rows[:, None]
            scores = tl.where(visible, scores, -float("inf"))
        # The maximum is taken before scaling and scaled alone; score * scale - maximum is then one FMA an element.
        new_max = tl.maximum(row_max, tl.max(scores, 1) * scale)
        weights = tl.exp2(scores * scale - new_max[:, None])
        # What was summed so far counted exp2(x - old maximum): bring it to the new one.
        rescale = tl.exp2(row_max - new_max)
        row_sum = row_sum * rescale + tl.sum(weights, 1)
        v = tl.load(v_ptr + tile, mask=inside, other=0.0) if MASKED else tl.load(v_ptr + tile)
        accumulator = tl.dot(weights.to(v.dtype), v, accumulator * rescale[:, None])
        row_max = new_max
    return accumulator, row_sum, row_max


@triton.jit
def flash_forward(
    q_ptr, k_ptr, v_ptr, o_ptr, S, scale,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    # One grid axis, bands of a head together: y and z stop at 65,535 blocks, which many short sequences pass.
    bands = tl.cdiv(S, BLOCK_M)
    band = tl.program_id(0) % bands
    if CAUSAL:
        # The last band sees the most keys: the longest jobs start first and the short ones fill the tail.
        band = bands - 1 - band
    first_row = band * BLOCK_M
    head = (tl.program_id(0) // bands).to(tl.int64) * S * HEAD_DIM
    rows, depth = first_row + tl.arange(0, BLOCK_M), tl.arange(0, HEAD_DIM)
    tile = head + rows[:, None] * HEAD_DIM + depth[None, :]
    q = tl.load(q_ptr + tile, mask=rows[:, None] < S, other=0.0)  # [BLOCK_M, HEAD_DIM]

    accumulator = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    row_max = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    # Whole tiles of keys that every row of the band sees need no mask at all; only the diagonal or the tail pays for it.
    unmasked_end = (first_row if CAUSAL else S) // BLOCK_N * BLOCK_N
    end = min(first_row + BLOCK_M, S) if CAUSAL else S
    accumulator, row_sum, row_max = _attend(
        accumulator, row_sum, row_max, q, k_ptr + head, v_ptr + head, first_row, 0, unmasked_end, S, scale,
        HEAD_DIM, BLOCK_M, BLOCK_N, CAUSAL, False,
    )  # fmt: skip
    accumulator, row_sum, row_max = _attend(
        accumulator, row_sum, row_max, q, k_ptr + head, v_ptr + head, first_row, unmasked_end, end, S, scale,
        HEAD_DIM, BLOCK_M, BLOCK_N, CAUSAL, True,
    )  # fmt: skip
    out = accumulator / row_sum[:, None]
    tl.store(o_ptr + tile, out.to(o_ptr.dtype.element_ty), mask=rows[:, None] < S)


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, *, config: Config | None = None) -> torch.Tensor:
    """softmax(q k^T / sqrt(D)) v for contiguous bf16 (B, H, S, D)."""
    batch, heads, length, head_dim = q.shape
    config = config or default_config(head_dim, causal, smem_limit_bytes(q, on_cpu=99 * 1024))
    out = torch.empty_like(q)
    # exp(x) = exp2(x * log2(e)): the factor joins the softmax scale and costs nothing.
    scale = math.log2(math.e) / math.sqrt(head_dim)
    flash_forward[(triton.cdiv(length, config.block_m) * batch * heads,)](
        q, k, v, out, length, scale,
        HEAD_DIM=head_dim, BLOCK_M=config.block_m, BLOCK_N=config.block_n, CAUSAL=causal,
        num_warps=config.num_warps, num_stages=config.num_stages,
    )  # fmt: skip
    return out


def compile_specs() -> list[TritonSpec]:
    """D = 64 and 128, causal and not, in the config that fits every target."""
    return [_spec(head_dim, causal) for head_dim in (64, 128) for causal in (False, True)]


def _spec(head_dim: int, causal: bool) -> TritonSpec:
    config = default_config(head_dim, causal, 0)
    pointers = ("q_ptr", "k_ptr", "v_ptr", "o_ptr")
    signature = dict.fromkeys(pointers, "*bf16") | {"S": "i32", "scale": "fp32"}
    tile = {"HEAD_DIM": head_dim, "BLOCK_M": config.block_m, "BLOCK_N": config.block_n, "CAUSAL": causal}
    return TritonSpec(flash_forward, signature, tile, config.num_warps, config.num_stages, (*pointers, "S"))

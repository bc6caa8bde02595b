"""Attention forward in Triton for Hopper: TMA loads, and the second product of one tile runs under the softmax of the next."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from kernel_wiki.harness.contract import TritonSpec, smem_limit_bytes

DETERMINISTIC = True


class Config(NamedTuple):
    """Queries and keys in a tile, and the launch options."""

    block_m: int
    block_n: int
    overlap: bool
    num_warps: int
    num_stages: int


LARGE_SMEM_BYTES = 128 * 1024
"""The largest default holds queries (16 KiB) and three stages of keys and values (32 KiB each); sm_90 offers 227 KiB a block, sm_120 99."""


def default_config(head_dim: int, causal: bool, smem_bytes: int) -> Config:
    """The config for D = 64 or 128 on a GPU whose blocks may hold `smem_bytes`; the fastest swept on an H200 where that is large."""
    if smem_bytes < LARGE_SMEM_BYTES:
        return Config(128, 64, False, 8, 3)  # mma.sync is synchronous: nothing to overlap with
    if head_dim == 64:
        return Config(64, 128, False, 4, 2)
    return Config(64, 64, not causal, 4, 3)


@triton.jit
def _load(descriptor, head, row, BLOCK: tl.constexpr, HEAD_DIM: tl.constexpr):
    """Rows [row, row + BLOCK) of a head; rows past S come as zeros, never as those of the next head."""
    return tl.reshape(descriptor.load([head, row, 0]), (BLOCK, HEAD_DIM))


@triton.jit
def _softmax(
    scores, row_sum, row_max, first_row, first_key, S, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Weights of a tile of scores, the factor for everything summed before, and the new sum and maximum."""
    if MASKED:
        keys = first_key + tl.arange(0, BLOCK_N)
        visible = keys[None, :] < S
        if CAUSAL:
            visible &= keys[None, :] <= (first_row + tl.arange(0, BLOCK_M))[:, None]
        scores = tl.where(visible, scores, -float("inf"))
    new_max = tl.maximum(row_max, tl.max(scores, 1) * scale)
    # Tiles come last to first, so a row may first meet a tile of which it sees nothing: -inf - -inf must not become NaN.
    base = tl.where(new_max == -float("inf"), 0.0, new_max) if MASKED else new_max
    weights = tl.exp2(scores * scale - base[:, None])
    rescale = tl.exp2(row_max - base)
    # The weights stay float32 until they are multiplied. Carried around the loop as bf16 they would be sent through shared
    # memory; converted next to the dot they stay in registers, where wgmma takes its left operand as well.
    return weights, rescale, row_sum * rescale + tl.sum(weights, 1), new_max


@triton.jit
def _walk(
    accumulator, weights, rescale, row_sum, row_max, q, k_desc, v_desc, head, first_row, block, count, S, scale,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, MASKED: tl.constexpr,
    OVERLAP: tl.constexpr,
):  # fmt: skip
    """Takes in `count` tiles of keys downwards from tile `block`."""
    for step in range(count):
        key = (block - step) * BLOCK_N
        scores = tl.dot(q, _load(k_desc, head, key, BLOCK_N, HEAD_DIM).T)
        if OVERLAP:
            # The product with V belongs to the tile before. Nothing below reads it, so the wait for it moves to the next
            # iteration's first dot, and the softmax runs on the other units meanwhile.
            v = _load(v_desc, head, key + BLOCK_N, BLOCK_N, HEAD_DIM)
            accumulator = tl.dot(weights.to(tl.bfloat16), v, accumulator * rescale[:, None])
            weights, rescale, row_sum, row_max = _softmax(
                scores, row_sum, row_max, first_row, key, S, scale, BLOCK_M, BLOCK_N, CAUSAL, MASKED
            )
        else:
            weights, rescale, row_sum, row_max = _softmax(
                scores, row_sum, row_max, first_row, key, S, scale, BLOCK_M, BLOCK_N, CAUSAL, MASKED
            )
            v = _load(v_desc, head, key, BLOCK_N, HEAD_DIM)
            accumulator = tl.dot(weights.to(tl.bfloat16), v, accumulator * rescale[:, None])
    return accumulator, weights, rescale, row_sum, row_max


@triton.jit
def flash_forward_tma(
    q_desc, k_desc, v_desc, o_desc, S, scale,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, OVERLAP: tl.constexpr,
):  # fmt: skip
    bands = tl.cdiv(S, BLOCK_M)
    # One grid axis, bands of a head together: y and z stop at 65,535 blocks, which many short sequences pass.
    band, head = tl.program_id(0) % bands, tl.program_id(0) // bands
    if CAUSAL:
        band = bands - 1 - band  # longest jobs first
    first_row = band * BLOCK_M
    q = _load(q_desc, head, first_row, BLOCK_M, HEAD_DIM)
    accumulator = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    row_max = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)

    # Last tile first: the masked tiles are there, one or two of them, and the long loop after them is free of comparisons.
    # With overlap the first iteration multiplies weights of zero, which is cheaper than a tile peeled off in front: its buffer
    # would take the place of a stage.
    weights = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    rescale = tl.full((BLOCK_M,), 1.0, dtype=tl.float32)
    last = tl.cdiv(min(first_row + BLOCK_M, S) if CAUSAL else S, BLOCK_N) - 1
    unmasked = min(first_row // BLOCK_N if CAUSAL else S // BLOCK_N, last)
    accumulator, weights, rescale, row_sum, row_max = _walk(
        accumulator, weights, rescale, row_sum, row_max, q, k_desc, v_desc, head, first_row, last, last - unmasked + 1,
        S, scale, HEAD_DIM, BLOCK_M, BLOCK_N, CAUSAL, True, OVERLAP,
    )  # fmt: skip
    accumulator, weights, rescale, row_sum, row_max = _walk(
        accumulator, weights, rescale, row_sum, row_max, q, k_desc, v_desc, head, first_row, unmasked - 1, unmasked,
        S, scale, HEAD_DIM, BLOCK_M, BLOCK_N, CAUSAL, False, OVERLAP,
    )  # fmt: skip
    if OVERLAP:
        v = _load(v_desc, head, 0, BLOCK_N, HEAD_DIM)
        accumulator = tl.dot(weights.to(tl.bfloat16), v, accumulator * rescale[:, None])
    out = (accumulator / row_sum[:, None]).to(tl.bfloat16)
    o_desc.store([head, first_row, 0], tl.reshape(out, (1, BLOCK_M, HEAD_DIM)))


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, *, config: Config | None = None) -> torch.Tensor:
    """softmax(q k^T / sqrt(D)) v for contiguous bf16 (B, H, S, D)."""
    batch, heads, length, head_dim = q.shape
    config = config or default_config(head_dim, causal, smem_limit_bytes(q, on_cpu=LARGE_SMEM_BYTES))
    out = torch.empty_like(q)
    q_desc, k_desc, v_desc, o_desc = (
        TensorDescriptor.from_tensor(x.view(batch * heads, length, head_dim), [1, rows, head_dim])
        for x, rows in ((q, config.block_m), (k, config.block_n), (v, config.block_n), (out, config.block_m))
    )
    scale = math.log2(math.e) / math.sqrt(head_dim)  # exp(x) = exp2(x * log2(e))
    flash_forward_tma[(triton.cdiv(length, config.block_m) * batch * heads,)](
        q_desc, k_desc, v_desc, o_desc, length, scale,
        HEAD_DIM=head_dim, BLOCK_M=config.block_m, BLOCK_N=config.block_n, CAUSAL=causal, OVERLAP=config.overlap,
        num_warps=config.num_warps, num_stages=config.num_stages,
    )  # fmt: skip
    return out


def compile_specs() -> list[TritonSpec]:
    """D = 64 and 128, causal and not."""
    return [_spec(head_dim, causal) for head_dim in (64, 128) for causal in (False, True)]


def _spec(head_dim: int, causal: bool) -> TritonSpec:
    config = default_config(head_dim, causal, LARGE_SMEM_BYTES)
    rows = {"q_desc": config.block_m, "k_desc": config.block_n, "v_desc": config.block_n, "o_desc": config.block_m}
    signature = {name: f"tensordesc<bf16[1, {block}, {head_dim}]>" for name, block in rows.items()} | {"S": "i32", "scale": "fp32"}
    tile = {"HEAD_DIM": head_dim, "BLOCK_M": config.block_m, "BLOCK_N": config.block_n, "CAUSAL": causal}
    return TritonSpec(flash_forward_tma, signature, tile | {"OVERLAP": config.overlap}, config.num_warps, config.num_stages, ("S",))

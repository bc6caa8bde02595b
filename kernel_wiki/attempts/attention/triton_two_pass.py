"""Attention forward in Triton in two passes over the keys: row maxima first, then weights that need no rescaling. Right, and slower."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from kernel_wiki.harness.contract import TritonSpec

DETERMINISTIC = True
BLOCK_M, BLOCK_N = 128, 64
NUM_WARPS, NUM_STAGES = 8, 3


@triton.jit
def _scores(
    q, k_ptr, start, first_row, S, k_stride,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """q k^T for the keys from `start` on, [BLOCK_M, BLOCK_N], -inf where the row does not see the key."""
    keys, depth = start + tl.arange(0, BLOCK_N), tl.arange(0, HEAD_DIM)
    tile = k_ptr + keys[:, None] * k_stride + depth[None, :]
    k = tl.load(tile, mask=(keys < S)[:, None], other=0.0) if MASKED else tl.load(tile)
    scores = tl.dot(q, k.T)
    if MASKED:
        visible = keys[None, :] < S
        if CAUSAL:
            visible &= keys[None, :] <= (first_row + tl.arange(0, BLOCK_M))[:, None]
        scores = tl.where(visible, scores, -float("inf"))
    return scores


@triton.jit
def attention_two_pass(
    q_ptr, k_ptr, v_ptr, o_ptr, S, scale, q_stride, k_stride, v_stride,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    bands = tl.cdiv(S, BLOCK_M)
    band = tl.program_id(0) % bands  # the bands of a head run together and share its keys through L2
    if CAUSAL:
        band = bands - 1 - band  # the longest jobs start first
    head, first_row = (tl.program_id(0) // bands).to(tl.int64) * S, band * BLOCK_M
    k_ptr += head * k_stride
    v_ptr += head * v_stride
    rows, depth = first_row + tl.arange(0, BLOCK_M), tl.arange(0, HEAD_DIM)
    q = tl.load(q_ptr + (head + rows)[:, None] * q_stride + depth[None, :], mask=rows[:, None] < S, other=0.0)
    # Whole tiles of keys that every row of the band sees need no mask; only the diagonal or the tail pays for it.
    unmasked_end = (first_row if CAUSAL else S) // BLOCK_N * BLOCK_N
    end = min(first_row + BLOCK_M, S) if CAUSAL else S

    row_max = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    for start in range(0, unmasked_end, BLOCK_N):
        scores = _scores(q, k_ptr, start, first_row, S, k_stride, HEAD_DIM, BLOCK_M, BLOCK_N, CAUSAL, False)
        row_max = tl.maximum(row_max, tl.max(scores, 1))
    for start in range(unmasked_end, end, BLOCK_N):
        scores = _scores(q, k_ptr, start, first_row, S, k_stride, HEAD_DIM, BLOCK_M, BLOCK_N, CAUSAL, True)
        row_max = tl.maximum(row_max, tl.max(scores, 1))
    row_max *= scale

    accumulator = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    for start in range(0, unmasked_end, BLOCK_N):
        scores = _scores(q, k_ptr, start, first_row, S, k_stride, HEAD_DIM, BLOCK_M, BLOCK_N, CAUSAL, False)
        weights = tl.exp2(scores * scale - row_max[:, None])  # final as it stands: no rescaling of sum and accumulator
        row_sum += tl.sum(weights, 1)
        v = tl.load(v_ptr + (start + tl.arange(0, BLOCK_N))[:, None] * v_stride + depth[None, :])
        accumulator = tl.dot(weights.to(v.dtype), v, accumulator)
    for start in range(unmasked_end, end, BLOCK_N):
        scores = _scores(q, k_ptr, start, first_row, S, k_stride, HEAD_DIM, BLOCK_M, BLOCK_N, CAUSAL, True)
        weights = tl.exp2(scores * scale - row_max[:, None])
        row_sum += tl.sum(weights, 1)
        keys = start + tl.arange(0, BLOCK_N)
        v = tl.load(v_ptr + keys[:, None] * v_stride + depth[None, :], mask=(keys < S)[:, None], other=0.0)
        accumulator = tl.dot(weights.to(v.dtype), v, accumulator)
    out = (accumulator / row_sum[:, None]).to(o_ptr.dtype.element_ty)
    tl.store(o_ptr + (head + rows)[:, None] * HEAD_DIM + depth[None, :], out, mask=rows[:, None] < S)


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """softmax(q k^T / sqrt(D)) v for bf16 (B, H, S, D) whose rows lie one pitch apart."""
    batch, heads, length, head_dim = q.shape
    out = torch.empty(q.shape, device=q.device, dtype=q.dtype)
    # exp(x) = exp2(x * log2(e)): the factor joins the softmax scale and costs nothing.
    scale = math.log2(math.e) / math.sqrt(head_dim)
    attention_two_pass[(batch * heads * triton.cdiv(length, BLOCK_M),)](
        q, k, v, out, length, scale, q.stride(2), k.stride(2), v.stride(2),
        HEAD_DIM=head_dim, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, CAUSAL=causal, num_warps=NUM_WARPS, num_stages=NUM_STAGES,
    )  # fmt: skip
    return out


def compile_specs() -> list[TritonSpec]:
    """D = 64 and 128, causal and not."""
    pointers = ("q_ptr", "k_ptr", "v_ptr", "o_ptr")
    strides = ("q_stride", "k_stride", "v_stride")
    signature = dict.fromkeys(pointers, "*bf16") | {"S": "i32", "scale": "fp32"} | dict.fromkeys(strides, "i32")
    return [
        TritonSpec(
            attention_two_pass, signature, {"HEAD_DIM": head_dim, "BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "CAUSAL": causal},
            NUM_WARPS, NUM_STAGES, (*pointers, "S", *strides),
        )
        for head_dim in (64, 128)
        for causal in (False, True)
    ]  # fmt: skip

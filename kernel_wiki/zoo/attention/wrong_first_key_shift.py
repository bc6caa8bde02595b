"""Wrong on purpose: softmax ignores any shift, so rows are shifted by their first score instead of the maximum. Large scores overflow."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "mismatch")
BLOCK = 64


@triton.jit
def flash_first_key(q_ptr, k_ptr, v_ptr, o_ptr, S, scale, HEAD_DIM: tl.constexpr, BLOCK: tl.constexpr, CAUSAL: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * S * HEAD_DIM
    rows, depth = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, HEAD_DIM)
    q = tl.load(q_ptr + head + rows[:, None] * HEAD_DIM + depth[None, :], mask=rows[:, None] < S, other=0.0)
    first = tl.load(k_ptr + head + depth).to(tl.float32)
    shift = tl.sum(q.to(tl.float32) * first[None, :], axis=1)  # every row sees the first key, masked or not
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    accumulator = tl.zeros((BLOCK, HEAD_DIM), dtype=tl.float32)
    end = min((tl.program_id(0) + 1) * BLOCK, S) if CAUSAL else S
    for start in range(0, end, BLOCK):
        keys = start + tl.arange(0, BLOCK)
        tile = head + keys[:, None] * HEAD_DIM + depth[None, :]
        k = tl.load(k_ptr + tile, mask=keys[:, None] < S, other=0.0)
        v = tl.load(v_ptr + tile, mask=keys[:, None] < S, other=0.0)
        visible = keys[None, :] < S
        if CAUSAL:
            visible &= keys[None, :] <= rows[:, None]
        scores = tl.where(visible, tl.dot(q, k.T) - shift[:, None], -float("inf"))
        weights = tl.exp2(scores * scale)
        total += tl.sum(weights, 1)
        accumulator = tl.dot(weights.to(v.dtype), v, accumulator)
    out = accumulator / total[:, None]
    tl.store(o_ptr + head + rows[:, None] * HEAD_DIM + depth[None, :], out.to(o_ptr.dtype.element_ty), mask=rows[:, None] < S)


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """No running maximum and nothing to rescale; right as long as no score is 88 above the first one of its row."""
    batch, heads, length, head_dim = q.shape
    out = torch.empty_like(q)
    scale = math.log2(math.e) / math.sqrt(head_dim)
    flash_first_key[(triton.cdiv(length, BLOCK), batch * heads)](
        q, k, v, out, length, scale, HEAD_DIM=head_dim, BLOCK=BLOCK, CAUSAL=causal, num_warps=4
    )
    return out

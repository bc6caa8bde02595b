"""Attention forward: O = softmax(Q K^T / sqrt(D)) V for every head, bf16 in and out, causal or not.

A NaN in a query makes its row of O NaN and no other. Infinities, and NaN in keys and values, are outside the promise: what a masked one of
them does depends on the tiles. Logits may be hundreds.

Distributions of its own: `ties` (all keys of a head equal: O is a running mean of V), `rising` and `falling` (logits grow, or shrink, along
the keys by several units a tile, so that every tile brings a new maximum to a kernel that walks forwards, or backwards), `spikes` (the
first key has a large logit, the last a larger one, the rest are near 0), `one-hot` (every query finds its own key: O is V), `special`
(NaN in q alone).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernel_wiki.harness.contract import Case, Dim, Tolerance, Work, draw

OPERATOR = "attention"
SIGNATURE = "run(q, k, v: (B, H, S, D) contiguous bf16, D 64 or 128, causal: bool) -> (B, H, S, D) bf16; scale 1/sqrt(D)"
BOUND = "matrix"

DIMS = {"b": Dim(1, 3), "h": Dim(1, 4), "s": Dim(1, 600), "d": Dim(64, 128, 64), "causal": Dim(0, 1)}

CASES = (
    Case({"b": 1, "h": 1, "s": 1, "d": 64, "causal": 1}, "bf16"),
    Case({"b": 1, "h": 1, "s": 64, "d": 64, "causal": 0}, "bf16"),
    Case({"b": 1, "h": 2, "s": 129, "d": 64, "causal": 1}, "bf16"),
    Case({"b": 2, "h": 3, "s": 200, "d": 128, "causal": 0}, "bf16"),
    Case({"b": 1, "h": 2, "s": 257, "d": 128, "causal": 1}, "bf16"),
    Case({"b": 1, "h": 2, "s": 512, "d": 64, "causal": 0}, "bf16", "large"),
    Case({"b": 1, "h": 2, "s": 512, "d": 64, "causal": 0}, "bf16", "tiny"),
    Case({"b": 1, "h": 2, "s": 1024, "d": 128, "causal": 1}, "bf16", "large"),
    Case({"b": 2, "h": 2, "s": 777, "d": 64, "causal": 1}, "bf16", "sorted"),
    Case({"b": 1, "h": 1, "s": 2047, "d": 128, "causal": 0}, "bf16", "sparse"),
    Case({"b": 3, "h": 1, "s": 127, "d": 128, "causal": 1}, "bf16"),
    Case({"b": 1, "h": 3, "s": 65, "d": 64, "causal": 0}, "bf16"),
    Case({"b": 1, "h": 2, "s": 383, "d": 64, "causal": 1}, "bf16", "heavy-tailed"),
    Case({"b": 1, "h": 2, "s": 255, "d": 64, "causal": 1}, "bf16", "ties"),
    Case({"b": 1, "h": 1, "s": 513, "d": 128, "causal": 0}, "bf16", "ties"),
    Case({"b": 1, "h": 2, "s": 331, "d": 64, "causal": 0}, "bf16", "rising"),
    Case({"b": 1, "h": 1, "s": 449, "d": 128, "causal": 1}, "bf16", "rising"),
    Case({"b": 1, "h": 2, "s": 331, "d": 64, "causal": 1}, "bf16", "falling"),
    Case({"b": 1, "h": 1, "s": 449, "d": 128, "causal": 0}, "bf16", "falling"),
    Case({"b": 1, "h": 2, "s": 401, "d": 128, "causal": 0}, "bf16", "spikes"),
    Case({"b": 1, "h": 2, "s": 257, "d": 64, "causal": 1}, "bf16", "spikes"),
    Case({"b": 2, "h": 1, "s": 193, "d": 128, "causal": 0}, "bf16", "one-hot"),
    Case({"b": 1, "h": 2, "s": 320, "d": 64, "causal": 1}, "bf16", "one-hot"),
    Case({"b": 1, "h": 2, "s": 211, "d": 64, "causal": 0}, "bf16", "special"),
    Case({"b": 1, "h": 1, "s": 300, "d": 128, "causal": 1}, "bf16", "special"),
    Case({"b": 2018, "h": 128, "s": 65, "d": 128, "causal": 1}, "bf16", huge=True),
    Case({"b": 4, "h": 16, "s": 4096, "d": 128, "causal": 0}, "bf16", timed=True),
    Case({"b": 4, "h": 16, "s": 8192, "d": 128, "causal": 1}, "bf16", timed=True),
    Case({"b": 4, "h": 32, "s": 4096, "d": 64, "causal": 0}, "bf16", timed=True),
    Case({"b": 4, "h": 32, "s": 8192, "d": 64, "causal": 1}, "bf16", timed=True),
)
"""The huge case has 2^31 + 1,605,632 elements in 258,304 heads, four times the limit of a grid's y axis."""

# The weights are rounded to bf16 before the second product and the result once more: about 2.5e-3 in norm together.
TOLERANCES = {"bf16": Tolerance(norm=5e-3, rtol=1e-2, atol=1e-2)}

REFERENCE_SCORES = 1 << 24
"""Scores that exist at once in the reference: 128 MiB in float64."""


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, bool]:
    """`(q, k, v, causal)`; q has the case's distribution, k and v are normal unless the distribution says otherwise of k."""
    shape = tuple(case.shape[key] for key in ("b", "h", "s", "d"))
    pattern = PATTERNS.get(case.distribution)
    q = draw(shape, replace(case, distribution="normal") if pattern else case, generator, device)
    k, v = (torch.randn(shape, generator=generator, device=device).to(q.dtype) for _ in range(2))
    if pattern:
        q, k = pattern(q, k)
    if case.distribution == "special":
        q = q.nan_to_num(nan=math.nan, posinf=1.0, neginf=-1.0)
    return q, k, v, bool(case.shape["causal"])


def _ties(q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return q, k[..., :1, :].expand_as(k).contiguous()


def _rising(q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return _steered(q, k, torch.linspace(0.0, 5.0, k.shape[-2], device=k.device))


def _falling(q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return _steered(q, k, torch.linspace(5.0, 0.0, k.shape[-2], device=k.device))


def _spikes(q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    heights = torch.zeros(k.shape[-2], device=k.device)
    heights[0], heights[-1] = 4.0, 8.0
    return _steered(q, k, heights)


def _steered(q: torch.Tensor, k: torch.Tensor, heights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """All queries near one direction, and key j with `heights[j]` of it: its logits are about heights[j] * sqrt(D)."""
    direction = q[..., :1, :].sign()
    return (direction + 0.1 * q).to(q.dtype), (direction * heights[:, None] + 0.25 * k).to(k.dtype)


def _one_hot(q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return 16 * k, k


PATTERNS = {"ties": _ties, "rising": _rising, "falling": _falling, "spikes": _spikes, "one-hot": _one_hot}


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """Attention in float64 from its definition, some heads and a band of query rows at a time."""
    out = torch.empty(q.shape, device=q.device, dtype=torch.float64)
    length, head_dim = q.shape[-2:]
    heads_at_once, rows_at_once = max(1, REFERENCE_SCORES // length**2), max(1, REFERENCE_SCORES // length)
    every_head = (x.view(-1, length, head_dim).split(heads_at_once) for x in (q, k, v, out))
    for queries, keys, values, answers in zip(*every_head):
        keys, values = keys.double(), values.double()
        for first in range(0, length, rows_at_once):
            scores = queries[:, first : first + rows_at_once].double() @ keys.mT / math.sqrt(head_dim)
            if causal:
                hidden = torch.ones(scores.shape[1:], device=q.device, dtype=torch.bool).triu(first + 1)
                scores.masked_fill_(hidden, -math.inf)
            answers[:, first : first + rows_at_once] = torch.softmax(scores, dim=-1) @ values
    return out


def work(case: Case) -> Work:
    """Q, K, V read once and O written once; two products over the visible pairs of query and key."""
    b, h, s, d = (case.shape[key] for key in ("b", "h", "s", "d"))
    pairs = s * (s + 1) // 2 if case.shape["causal"] else s * s
    return Work(bytes_moved=4 * 2 * b * h * s * d, flops=4 * b * h * pairs * d)


UNAVAILABLE = ("No available kernel", "No viable backend")
"""What torch says when the one backend that is allowed cannot take these inputs; the second is the CPU's wording."""


def _sdpa(backend: SDPBackend) -> Callable[..., torch.Tensor]:
    """torch's scaled_dot_product_attention held to one backend."""

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
        try:
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        except RuntimeError as error:
            if not any(text in str(error) for text in UNAVAILABLE):
                raise
            raise NotImplementedError(f"torch has no {backend.name} backend for {tuple(q.shape)} on {q.device}") from error

    return run


BASELINES = {
    "sdpa-flash": _sdpa(SDPBackend.FLASH_ATTENTION),
    "sdpa-cudnn": _sdpa(SDPBackend.CUDNN_ATTENTION),
    "sdpa-efficient": _sdpa(SDPBackend.EFFICIENT_ATTENTION),
}

"""Attention forward: O = softmax(Q K^T / sqrt(D)) V for every head, bf16 in and out, causal or not."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernel_wiki.harness.contract import Case, Tolerance, Work, draw

OPERATOR = "attention"
SIGNATURE = "run(q, k, v: (B, H, S, D) contiguous bf16, D 64 or 128, causal: bool) -> (B, H, S, D) bf16; scale 1/sqrt(D)"
BOUND = "matrix"

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
    Case({"b": 4, "h": 16, "s": 4096, "d": 128, "causal": 0}, "bf16", timed=True),
    Case({"b": 4, "h": 16, "s": 8192, "d": 128, "causal": 1}, "bf16", timed=True),
    Case({"b": 4, "h": 32, "s": 4096, "d": 64, "causal": 0}, "bf16", timed=True),
    Case({"b": 4, "h": 32, "s": 8192, "d": 64, "causal": 1}, "bf16", timed=True),
)

# The weights are rounded to bf16 before the second product and the result once more: about 2.5e-3 in norm together.
TOLERANCES = {"bf16": Tolerance(norm=5e-3, rtol=1e-2, atol=1e-2)}

REFERENCE_ROWS = 1024
"""Query rows whose scores exist at once in the reference: 64 MiB in float64 at S = 8192."""


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, bool]:
    """`(q, k, v, causal)`; q has the case's distribution, k and v are normal."""
    shape = tuple(case.shape[key] for key in ("b", "h", "s", "d"))
    q = draw(shape, case, generator, device)
    k, v = (torch.randn(shape, generator=generator, device=device).to(q.dtype) for _ in range(2))
    return q, k, v, bool(case.shape["causal"])


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """Attention in float64 from its definition, a head and a band of query rows at a time."""
    out = torch.empty(q.shape, device=q.device, dtype=torch.float64)
    length, head_dim = q.shape[-2:]
    for head in range(q.shape[0] * q.shape[1]):
        keys, values = (x.reshape(-1, length, head_dim)[head].double() for x in (k, v))
        for first in range(0, length, REFERENCE_ROWS):
            queries = q.reshape(-1, length, head_dim)[head, first : first + REFERENCE_ROWS].double()
            scores = queries @ keys.T / math.sqrt(head_dim)
            if causal:
                hidden = torch.ones_like(scores, dtype=torch.bool).triu(first + 1)
                scores.masked_fill_(hidden, -math.inf)
            weights = torch.softmax(scores, dim=-1)
            out.view(-1, length, head_dim)[head, first : first + REFERENCE_ROWS] = weights @ values
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

"""Matrix product C = A @ B: bf16 in and out, float32 accumulation, all matrices row-major.

N and K are multiples of 8, so that every row of A, B and C starts on 16 bytes: cp.async and TMA both demand it.

NaN and infinities follow IEEE 754: an element of C is NaN if a product in its sum is, or if infinities of both signs meet in it.

Distributions of its own, of A: `cancelling` (all but 8 columns of A are large, and the second half of them undoes the first, so that C is a
small difference of large partial sums), `rank-one` (rows of A and columns of B are constant, so that all terms of a sum are equal and
a narrower running sum stalls), `one-hot` (one 1 in each row of A: C is rows of B, bit for bit).
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from kernel_wiki.harness.contract import Case, Dim, Tolerance, Work, draw

OPERATOR = "gemm"
SIGNATURE = "run(a: (M, K) contiguous bf16, b: (K, N) contiguous bf16) -> (M, N) bf16; N and K multiples of 8, M any"
BOUND = "matrix"

DIMS = {"m": Dim(1, 768), "n": Dim(8, 1024, 8), "k": Dim(8, 2048, 8)}
LEAST_DRAWN_OUTPUTS = 64
"""With fewer elements the rounding of C alone can pass the norm's tolerance."""

CASES = (
    Case({"m": 1, "n": 72, "k": 8}, "bf16"),
    Case({"m": 129, "n": 264, "k": 200}, "bf16"),
    Case({"m": 7, "n": 136, "k": 1032}, "bf16"),
    Case({"m": 300, "n": 1000, "k": 72}, "bf16"),
    Case({"m": 512, "n": 512, "k": 512}, "bf16", "large"),
    Case({"m": 512, "n": 512, "k": 512}, "bf16", "tiny"),
    Case({"m": 256, "n": 256, "k": 1032}, "bf16", "constant"),
    Case({"m": 257, "n": 776, "k": 2056}, "bf16", "sparse"),
    Case({"m": 64, "n": 4096, "k": 4096}, "bf16"),
    Case({"m": 4096, "n": 40, "k": 2048}, "bf16", "sorted"),
    Case({"m": 31, "n": 8, "k": 16}, "bf16"),
    Case({"m": 127, "n": 120, "k": 136}, "bf16", "heavy-tailed"),
    Case({"m": 61, "n": 264, "k": 1032}, "bf16", "cancelling"),
    Case({"m": 257, "n": 136, "k": 520}, "bf16", "cancelling"),
    Case({"m": 65, "n": 72, "k": 2056}, "bf16", "rank-one"),
    Case({"m": 129, "n": 520, "k": 328}, "bf16", "one-hot"),
    Case({"m": 263, "n": 136, "k": 72}, "bf16", "special"),
    Case({"m": 65544, "n": 32776, "k": 8}, "bf16", huge=True),
    Case({"m": 4096, "n": 4096, "k": 4096}, "bf16", timed=True),
    Case({"m": 8192, "n": 8192, "k": 8192}, "bf16", timed=True),
    Case({"m": 2048, "n": 4096, "k": 14336}, "bf16", timed=True),
)
"""C of the huge case has 2^31 + 786,496 elements."""

# Rounding the result to bf16 costs 1.7e-3 in norm. Rounding the running sum every 64 of K costs 1.7e-3 * sqrt(K / 128): past the
# tolerance from K = 512 on.
TOLERANCES = {"bf16": Tolerance(norm=3e-3, rtol=8e-3, atol=2e-3)}


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """`(a, b)`; a has the case's distribution, b is normal with variance 1/K so that C is of the size of a."""
    m, n, k = case.shape["m"], case.shape["n"], case.shape["k"]
    a = draw((m, k), replace(case, distribution="normal") if case.distribution in PATTERNS else case, generator, device)
    b = (torch.randn((k, n), generator=generator, device=device) / math.sqrt(k)).to(a.dtype)
    return PATTERNS[case.distribution](a, b, generator) if case.distribution in PATTERNS else (a, b)


def _cancelling(a: torch.Tensor, b: torch.Tensor, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    half = (a.shape[1] - 8) // 2
    a[:, :half] *= 8
    a[:, half : 2 * half] = -a[:, :half]
    b[half : 2 * half] = b[:half]
    return a, b


def _rank_one(a: torch.Tensor, b: torch.Tensor, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    return a[:, :1].repeat(1, a.shape[1]), b[:1].repeat(b.shape[0], 1)


def _one_hot(a: torch.Tensor, b: torch.Tensor, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    places = torch.randint(a.shape[1], (a.shape[0], 1), generator=generator, device=a.device)
    return torch.zeros_like(a).scatter(1, places, 1.0), b


PATTERNS = {"cancelling": _cancelling, "rank-one": _rank_one, "one-hot": _one_hot}
REFERENCE_ELEMENTS = 1 << 27
"""Elements of C that the reference works on at a time: 1 GiB in float64."""


def admits(shape: dict[str, int]) -> bool:
    """Drawn cases with enough outputs for their norm to mean something."""
    return shape["m"] * shape["n"] >= LEAST_DRAWN_OUTPUTS


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product in float64, a band of rows at a time."""
    out = torch.empty((a.shape[0], b.shape[1]), device=a.device, dtype=torch.float64)
    wide = b.double()
    for a_band, out_band in zip(*(tensor.split(max(1, REFERENCE_ELEMENTS // b.shape[1])) for tensor in (a, out))):
        torch.matmul(a_band.double(), wide, out=out_band)
    return out


def work(case: Case) -> Work:
    """A and B read once, C written once; K fused multiply-adds for each element of C."""
    m, n, k = case.shape["m"], case.shape["n"], case.shape["k"]
    return Work(bytes_moved=2 * (m * k + k * n + m * n), flops=2 * m * n * k)


BASELINES = {"torch.matmul": torch.matmul}

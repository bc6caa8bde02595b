"""Matrix product C = A @ B: bf16 in and out, float32 accumulation, all matrices row-major.

N and K are multiples of 8, so that every row of A, B and C starts on 16 bytes: cp.async and TMA both demand it.
"""

from __future__ import annotations

import math

import torch

from kernel_wiki.harness.contract import Case, Tolerance, Work, draw

OPERATOR = "gemm"
SIGNATURE = "run(a: (M, K) contiguous bf16, b: (K, N) contiguous bf16) -> (M, N) bf16; N and K multiples of 8, M any"
BOUND = "matrix"

CASES = (
    Case({"m": 1, "n": 8, "k": 8}, "bf16"),
    Case({"m": 129, "n": 264, "k": 200}, "bf16"),
    Case({"m": 7, "n": 136, "k": 1032}, "bf16"),
    Case({"m": 300, "n": 1000, "k": 72}, "bf16"),
    Case({"m": 512, "n": 512, "k": 512}, "bf16", "large"),
    Case({"m": 512, "n": 512, "k": 512}, "bf16", "tiny"),
    Case({"m": 256, "n": 256, "k": 1032}, "bf16", "constant"),
    Case({"m": 257, "n": 776, "k": 2056}, "bf16", "sparse"),
    Case({"m": 64, "n": 4096, "k": 4096}, "bf16"),
    Case({"m": 4096, "n": 40, "k": 2048}, "bf16", "sorted"),
    Case({"m": 4096, "n": 4096, "k": 4096}, "bf16", timed=True),
    Case({"m": 8192, "n": 8192, "k": 8192}, "bf16", timed=True),
    Case({"m": 2048, "n": 4096, "k": 14336}, "bf16", timed=True),
)

# Rounding the result to bf16 costs 1.7e-3 in norm. Rounding the running sum every 64 of K costs 1.7e-3 * sqrt(K / 128): past the
# tolerance from K = 512 on.
TOLERANCES = {"bf16": Tolerance(norm=3e-3, rtol=8e-3, atol=2e-3)}


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """`(a, b)`; a has the case's distribution, b is normal with variance 1/K so that C is of the size of a."""
    m, n, k = case.shape["m"], case.shape["n"], case.shape["k"]
    a = draw((m, k), case, generator, device)
    b = torch.randn((k, n), generator=generator, device=device) / math.sqrt(k)
    return a, b.to(a.dtype)


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product in float64."""
    return a.double() @ b.double()


def work(case: Case) -> Work:
    """A and B read once, C written once; K fused multiply-adds for each element of C."""
    m, n, k = case.shape["m"], case.shape["n"], case.shape["k"]
    return Work(bytes_moved=2 * (m * k + k * n + m * n), flops=2 * m * n * k)


BASELINES = {"torch.matmul": torch.matmul}

"""Transpose: y[j, i] = x[i, j], written out contiguously."""

from __future__ import annotations

import torch

from kernel_wiki.harness.contract import Case, Tolerance, Work, draw

OPERATOR = "transpose"
SIGNATURE = "run(x: (M, N) contiguous, 16-byte aligned, fp32 | bf16) -> (N, M) contiguous, of the same dtype, in memory of its own"
BOUND = "bandwidth"

CASES = (
    Case({"m": 1, "n": 1}, "fp32"),
    Case({"m": 1, "n": 1009}, "bf16"),
    Case({"m": 37, "n": 61}, "fp32", "tiny"),
    Case({"m": 64, "n": 192}, "bf16", "large"),
    Case({"m": 333, "n": 520}, "bf16"),
    Case({"m": 520, "n": 260}, "fp32", "sorted"),
    Case({"m": 1031, "n": 773}, "fp32"),
    Case({"m": 200, "n": 1048}, "bf16", "sparse"),
    Case({"m": 70001, "n": 33}, "fp32"),
    Case({"m": 8192, "n": 8192}, "fp32", timed=True),
    Case({"m": 12344, "n": 10008}, "fp32", timed=True),
    Case({"m": 16384, "n": 16384}, "bf16", timed=True),
    Case({"m": 10007, "n": 14983}, "bf16", timed=True),
)
"""10,007 and 14,983 are prime: no row but the first starts on a 16-byte boundary. 70,001 rows pass 65,535, the limit of a grid's y axis."""

EXACT = Tolerance(norm=0.0, rtol=0.0, atol=0.0)
TOLERANCES = {"fp32": EXACT, "bf16": EXACT}


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor]:
    """`(x,)` with x of shape (M, N)."""
    return (draw((case.shape["m"], case.shape["n"]), case, generator, device),)


def reference(x: torch.Tensor) -> torch.Tensor:
    """The transposed values; every float is exact in float64."""
    return x.double().t().contiguous()


def work(case: Case) -> Work:
    """One read and one write of the matrix."""
    size = {"fp32": 4, "bf16": 2}[case.dtype]
    return Work(bytes_moved=2 * case.shape["m"] * case.shape["n"] * size, flops=0)


def _eager(x: torch.Tensor) -> torch.Tensor:
    return x.t().contiguous()


BASELINES = {"torch": _eager, "torch.compile": torch.compile(_eager)}

"""Row softmax: y[i, j] = exp(x[i, j]) / sum_k exp(x[i, k]), numerically stable."""

from __future__ import annotations

import torch

from kernel_wiki.harness.contract import Case, Tolerance, Work, draw

OPERATOR = "softmax"
SIGNATURE = "run(x: (M, N) contiguous, fp32 | fp16 | bf16) -> (M, N) of the same dtype"
BOUND = "bandwidth"

CASES = (
    Case({"m": 1, "n": 1}, "fp32"),
    Case({"m": 37, "n": 781}, "fp32"),
    Case({"m": 129, "n": 1000}, "bf16"),
    Case({"m": 64, "n": 4096}, "bf16", "large"),
    Case({"m": 64, "n": 4096}, "fp16", "tiny"),
    Case({"m": 5, "n": 8191}, "fp32", "sorted"),
    Case({"m": 17, "n": 512}, "bf16", "constant"),
    Case({"m": 3, "n": 20000}, "bf16"),
    Case({"m": 65536, "n": 1024}, "bf16", timed=True),
    Case({"m": 32768, "n": 4096}, "bf16", timed=True),
    Case({"m": 8192, "n": 16384}, "fp32", timed=True),
)

TOLERANCES = {
    "fp32": Tolerance(norm=1e-5, rtol=2e-5, atol=1e-9),
    "fp16": Tolerance(norm=1e-3, rtol=2e-3, atol=1e-6),
    "bf16": Tolerance(norm=4e-3, rtol=1e-2, atol=1e-8),
}


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor]:
    """`(x,)` with x of shape (M, N)."""
    return (draw((case.shape["m"], case.shape["n"]), case, generator, device),)


def reference(x: torch.Tensor) -> torch.Tensor:
    """Softmax of every row in float64, from its definition."""
    x = x.double()
    shifted = torch.exp(x - x.amax(dim=1, keepdim=True))
    return shifted / shifted.sum(dim=1, keepdim=True)


def work(case: Case) -> Work:
    """One read and one write of the matrix; subtract, exp, add, divide per element."""
    elements = case.shape["m"] * case.shape["n"]
    size = {"fp32": 4, "fp16": 2, "bf16": 2}[case.dtype]
    return Work(bytes_moved=2 * elements * size, flops=4 * elements)


def _eager(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=1)


BASELINES = {"torch": _eager, "torch.compile": torch.compile(_eager)}

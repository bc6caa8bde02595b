"""Row softmax: y[i, j] = exp(x[i, j]) / sum_k exp(x[i, k]), numerically stable.

What is promised beyond finite rows, as torch.softmax answers:

    a row with NaN or +inf              NaN in the whole row
    -inf beside finite elements         0 there, and the row sums to 1 over the others
    a row of nothing but -inf           NaN in the whole row

x may be a view: its base one element past an aligned address, or its rows further apart than they are long. The result is contiguous.
Rows longer than MAX_COLUMNS may be refused with ValueError.

Distributions of its own: `masked` (half of every row -inf, the first row wholly, the last all but one element), `ties` (a third of a row at
its maximum), `dominating` (one element 12 or 200 above 0 in each row), `special` (rows in turn clean, with one NaN, +inf and -inf).
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from kernel_wiki.harness.contract import Case, Dim, Tolerance, Work, draw

OPERATOR = "softmax"
SIGNATURE = (
    "run(x: (M, N), rows contiguous and at least N apart, fp32 | fp16 | bf16, N up to 32,768) -> (M, N) contiguous, of the same dtype"
)
BOUND = "bandwidth"

MAX_COLUMNS = 32768
"""Longest row that every implementation takes."""
DIMS = {"m": Dim(1, 4096), "n": Dim(1, 16384)}
"""N of drawn cases stays where the quotients of near-uniform fp16 rows are normal numbers."""
MAX_DRAWN_ELEMENTS = 1 << 22
VIEWS = {"offset": (0,), "strided": (0,)}

CASES = (
    Case({"m": 1, "n": 1}, "fp32"),
    Case({"m": 37, "n": 781}, "fp32"),
    Case({"m": 129, "n": 1000}, "bf16"),
    Case({"m": 64, "n": 4096}, "bf16", "large"),
    Case({"m": 64, "n": 4096}, "fp16", "tiny"),
    Case({"m": 5, "n": 8191}, "fp32", "sorted"),
    Case({"m": 17, "n": 512}, "bf16", "constant"),
    Case({"m": 3, "n": 20000}, "bf16"),
    Case({"m": 4097, "n": 7}, "fp16"),
    Case({"m": 31, "n": 1025}, "bf16", "heavy-tailed"),
    Case({"m": 19, "n": 2047}, "fp32", "ties"),
    Case({"m": 23, "n": 2049}, "bf16", "dominating"),
    Case({"m": 16, "n": 1024}, "bf16", "masked"),
    Case({"m": 7, "n": 10007}, "fp32", "masked"),
    Case({"m": 131, "n": 127}, "fp16", "special"),
    Case({"m": 9, "n": 20011}, "fp32", "special"),
    Case({"m": 65539, "n": 32768}, "bf16", huge=True),
    Case({"m": 65536, "n": 1024}, "bf16", timed=True),
    Case({"m": 32768, "n": 4096}, "bf16", timed=True),
    Case({"m": 8192, "n": 16384}, "fp32", timed=True),
)
"""The huge case has 2^31 + 98,304 elements."""

TOLERANCES = {
    "fp32": Tolerance(norm=1e-5, rtol=2e-5, atol=1e-9),
    "fp16": Tolerance(norm=1e-3, rtol=2e-3, atol=1e-6),
    "bf16": Tolerance(norm=4e-3, rtol=1e-2, atol=1e-8),
}

REFERENCE_ELEMENTS = 1 << 27
"""Elements that the reference works on at a time: 1 GiB for each float64 temporary."""


def admits(shape: dict[str, int]) -> bool:
    """Drawn cases of at most four million elements."""
    return shape["m"] * shape["n"] <= MAX_DRAWN_ELEMENTS


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor]:
    """`(x,)` with x of shape (M, N)."""
    shape = (case.shape["m"], case.shape["n"])
    if case.distribution not in PATTERNS:
        return (draw(shape, case, generator, device),)
    x = draw(shape, replace(case, distribution="normal"), generator, device)
    return (PATTERNS[case.distribution](x, generator),)


def _masked(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    x[torch.rand(x.shape, generator=generator, device=x.device) < 0.5] = -math.inf
    x[0] = -math.inf
    x[-1, :-1] = -math.inf
    x[-1, -1] = 0.5
    return x


def _ties(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return (x * 2).round().clamp(max=1.0)


def _dominating(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return _one_a_row(x, (12.0, 200.0), generator)


def _special(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return _one_a_row(x, (0.0, math.nan, math.inf, -math.inf), generator)


def _one_a_row(x: torch.Tensor, values: tuple[float, ...], generator: torch.Generator) -> torch.Tensor:
    """x with one element of each row, anywhere in it, replaced by the next of `values`."""
    rows, columns = x.shape
    places = torch.randint(columns, (rows, 1), generator=generator, device=x.device)
    turns = torch.arange(rows, device=x.device) % len(values)
    return x.scatter(1, places, torch.tensor(values, device=x.device, dtype=x.dtype)[turns][:, None])


PATTERNS = {"masked": _masked, "ties": _ties, "dominating": _dominating, "special": _special}


def reference(x: torch.Tensor) -> torch.Tensor:
    """Softmax of every row in float64, from its definition, a band of rows at a time."""
    out = torch.empty(x.shape, device=x.device, dtype=torch.float64)
    for x_band, out_band in zip(*(tensor.split(max(1, REFERENCE_ELEMENTS // x.shape[1])) for tensor in (x, out))):
        wide = x_band.double()
        shifted = torch.exp(wide - wide.amax(dim=1, keepdim=True))
        out_band.copy_(shifted / shifted.sum(dim=1, keepdim=True))
    return out


def work(case: Case) -> Work:
    """One read and one write of the matrix; subtract, exp, add, divide per element."""
    elements = case.shape["m"] * case.shape["n"]
    size = {"fp32": 4, "fp16": 2, "bf16": 2}[case.dtype]
    return Work(bytes_moved=2 * elements * size, flops=4 * elements)


def _eager(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=1)


BASELINES = {"torch": _eager, "torch.compile": torch.compile(_eager)}

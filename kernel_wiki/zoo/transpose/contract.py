"""Transpose: y[j, i] = x[i, j], written out contiguously.

Every element keeps its value, NaN and infinities included. x may be a view: its base one element past an aligned address, or its rows
further apart than they are long.

A distribution of its own: `index`, in which an element tells where it came from: its row-major index modulo a prime that the dtype holds
exactly.
"""

from __future__ import annotations

import torch

from kernel_wiki.harness.contract import Case, Dim, Tolerance, Work, draw, torch_dtype

OPERATOR = "transpose"
SIGNATURE = (
    "run(x: (M, N), rows contiguous and at least N apart, fp32 | bf16) -> (N, M) contiguous, of the same dtype, in memory of its own"
)
BOUND = "bandwidth"

DIMS = {"m": Dim(1, 4096), "n": Dim(1, 4096)}
MAX_DRAWN_ELEMENTS = 1 << 22
VIEWS = {"offset": (0,), "strided": (0,)}

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
    Case({"m": 127, "n": 1}, "bf16"),
    Case({"m": 129, "n": 255}, "fp32", "index"),
    Case({"m": 256, "n": 384}, "fp32", "index"),
    Case({"m": 257, "n": 511}, "bf16", "index"),
    Case({"m": 384, "n": 256}, "bf16", "index"),
    Case({"m": 63, "n": 65}, "bf16", "heavy-tailed"),
    Case({"m": 131, "n": 149}, "fp32", "special"),
    Case({"m": 264, "n": 136}, "bf16", "special"),
    Case({"m": 65544, "n": 32784}, "bf16", huge=True),
    Case({"m": 8192, "n": 8192}, "fp32", timed=True),
    Case({"m": 12344, "n": 10008}, "fp32", timed=True),
    Case({"m": 16384, "n": 16384}, "bf16", timed=True),
    Case({"m": 10007, "n": 14983}, "bf16", timed=True),
)
"""10,007 and 14,983 are prime: no row but the first starts on a 16-byte boundary. 70,001 rows pass 65,535, the limit of a grid's y axis.
The huge case has 2^31 + 1,310,848 elements, and sides that are multiples of 16 bytes."""

EXACT = Tolerance(norm=0.0, rtol=0.0, atol=0.0)
TOLERANCES = {"fp32": EXACT, "bf16": EXACT}

INDEX_MODULUS = {"fp32": 16777213, "bf16": 251}
"""The largest primes up to which the dtype holds every integer (2^24 and 2^8): no tile is a multiple of them."""


def admits(shape: dict[str, int]) -> bool:
    """Drawn cases of at most four million elements."""
    return shape["m"] * shape["n"] <= MAX_DRAWN_ELEMENTS


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor]:
    """`(x,)` with x of shape (M, N)."""
    shape = (case.shape["m"], case.shape["n"])
    if case.distribution == "index":
        index = torch.arange(shape[0] * shape[1], device=device) % INDEX_MODULUS[case.dtype]
        return (index.to(torch_dtype(case.dtype)).view(shape),)
    return (draw(shape, case, generator, device),)


def reference(x: torch.Tensor) -> torch.Tensor:
    """The transposed values in x's own dtype, which is exact, and a quarter of what float64 would take."""
    return x.t().contiguous()


def work(case: Case) -> Work:
    """One read and one write of the matrix."""
    size = {"fp32": 4, "bf16": 2}[case.dtype]
    return Work(bytes_moved=2 * case.shape["m"] * case.shape["n"] * size, flops=0)


def _eager(x: torch.Tensor) -> torch.Tensor:
    return x.t().contiguous()


BASELINES = {"torch": _eager, "torch.compile": torch.compile(_eager)}

"""Copy: y[i] = x[i] for every element of a flat tensor, into memory of its own.

Every element keeps its value, NaN and infinities included. x may start one element past an aligned address.
"""

from __future__ import annotations

import torch

from kernel_wiki.harness.contract import Case, Dim, Tolerance, Work, draw

OPERATOR = "copy"
SIGNATURE = (
    "run(x: (N,) contiguous, fp32 | fp16 | bf16, on any address that its elements may have) -> (N,) of the same dtype in newly allocated "
    "memory; x is left as it was"
)
BOUND = "bandwidth"

DIMS = {"n": Dim(1, 1 << 22)}
VIEWS = {"offset": (0,)}

CASES = (
    Case({"n": 1}, "fp32"),
    Case({"n": 17}, "bf16"),
    Case({"n": 1000}, "fp16", "tiny"),
    Case({"n": 8191}, "bf16", "large"),
    Case({"n": 65536}, "fp32", "constant"),
    Case({"n": 65537}, "fp32", "sorted"),
    Case({"n": 1000003}, "bf16", "sparse"),
    Case({"n": 3145728}, "fp16"),
    Case({"n": 7}, "fp16"),
    Case({"n": 2047}, "bf16", "heavy-tailed"),
    Case({"n": 4097}, "fp32", "special"),
    Case({"n": 131071}, "bf16", "special"),
    Case({"n": 16385}, "fp16", "special"),
    Case({"n": 2147483659}, "bf16", huge=True),
    Case({"n": 100000007}, "bf16", timed=True),
    Case({"n": 268435456}, "bf16", timed=True),
    Case({"n": 268435456}, "fp32", timed=True),
)
"""100,000,007 is prime: the last 14 bytes fill no 16-byte vector. The largest timed case moves 2 GiB; the huge one
has 2^31 + 11 elements."""

EXACT = Tolerance(norm=0.0, rtol=0.0, atol=0.0)
TOLERANCES = {"fp32": EXACT, "fp16": EXACT, "bf16": EXACT}


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor]:
    """`(x,)` with x of shape (N,)."""
    return (draw((case.shape["n"],), case, generator, device),)


def reference(x: torch.Tensor) -> torch.Tensor:
    """The values of x in its own dtype, which is exact, and a quarter of what float64 would take."""
    return x.clone()


def work(case: Case) -> Work:
    """One read and one write."""
    size = {"fp32": 4, "fp16": 2, "bf16": 2}[case.dtype]
    return Work(bytes_moved=2 * case.shape["n"] * size, flops=0)


def _eager(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


BASELINES = {"torch": _eager, "torch.compile": torch.compile(_eager)}

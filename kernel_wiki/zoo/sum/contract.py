"""Sum of all elements of a flat tensor into one float32.

Float32 accumulation in any order. The page of an implementation says whether its order is fixed, so that the same input gives the same
bits every time, or depends on the schedule, as with atomics; both are admitted.
"""

from __future__ import annotations

import torch

from kernel_wiki.harness.contract import Case, Tolerance, Work, draw

OPERATOR = "sum"
SIGNATURE = "run(x: (N,) contiguous, 16-byte aligned, fp32 | bf16) -> () fp32, accumulated in float32"
BOUND = "bandwidth"

CASES = (
    Case({"n": 1}, "fp32"),
    Case({"n": 17}, "bf16"),
    Case({"n": 1021}, "fp32", "tiny"),
    Case({"n": 8191}, "bf16", "large"),
    Case({"n": 65536}, "bf16", "constant"),
    Case({"n": 65537}, "fp32", "sorted"),
    Case({"n": 1000003}, "fp32"),
    Case({"n": 3145728}, "bf16", "sparse"),
    Case({"n": 400000009}, "bf16", timed=True),
    Case({"n": 268435456}, "fp32", timed=True),
    Case({"n": 536870912}, "bf16", timed=True),
)
"""65,537, 1,000,003 and 400,000,009 are prime. The two largest cases read 1 GiB each."""

TOLERANCES = {
    "fp32": Tolerance(norm=1e-5, rtol=1e-5, atol=0.0),
    "bf16": Tolerance(norm=1e-5, rtol=1e-5, atol=0.0),
}
"""By input dtype. bf16 inputs are exact in float32, so both rows bound the accumulation alone."""


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor]:
    """`(x,)` with x of shape (N,); all but every fourth element non-negative, so that the sum is not a difference of large numbers."""
    x = draw((case.shape["n"],), case, generator, device)
    shifted = x.abs()
    shifted[::4] = x[::4]
    return (shifted,)


def reference(x: torch.Tensor) -> torch.Tensor:
    """The sum in float64."""
    return x.double().sum()


def work(case: Case) -> Work:
    """One read; the result is four bytes."""
    size = {"fp32": 4, "bf16": 2}[case.dtype]
    return Work(bytes_moved=case.shape["n"] * size + 4, flops=case.shape["n"])


def _eager(x: torch.Tensor) -> torch.Tensor:
    return torch.sum(x, dtype=torch.float32)


BASELINES = {"torch": _eager, "torch.compile": torch.compile(_eager)}

"""STREAM triad: y[i] = a[i] + s * b[i], computed in float32 and rounded once to the storage type."""

from __future__ import annotations

import torch

from kernel_wiki.harness.contract import Case, Tolerance, Work, draw

OPERATOR = "triad"
SIGNATURE = "run(a: (N,), b: (N,), s: float) -> (N,); a and b contiguous, 16-byte aligned, of one dtype fp32 | bf16, as is the result"
BOUND = "bandwidth"

CASES = (
    Case({"n": 1}, "fp32"),
    Case({"n": 17}, "bf16"),
    Case({"n": 1021}, "fp32", "tiny"),
    Case({"n": 8191}, "bf16", "large"),
    Case({"n": 65536}, "bf16", "constant"),
    Case({"n": 65537}, "fp32", "sorted"),
    Case({"n": 1000003}, "bf16"),
    Case({"n": 3145728}, "fp32", "sparse"),
    Case({"n": 100000007}, "bf16", timed=True),
    Case({"n": 134217728}, "fp32", timed=True),
    Case({"n": 268435456}, "bf16", timed=True),
)
"""65,537, 1,000,003 and 100,000,007 are prime. The two largest cases move 1.5 GiB each."""

TOLERANCES = {
    "fp32": Tolerance(norm=2e-7, rtol=1e-6, atol=1e-4),
    "bf16": Tolerance(norm=4e-3, rtol=4e-3, atol=1e-4),
}
"""atol covers a + s * b that nearly cancels: s * b reaches about 500 in the `large` cases, half a float32 ulp of it is 3e-5.
bf16 allows the one rounding to nearest of the result, at most 2^-8 = 3.9e-3; in norm too: a `constant` case has one result."""


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, float]:
    """`(a, b, s)`, s in (0.5, 1.5) and exact in float32."""
    shape = (case.shape["n"],)
    a = draw(shape, case, generator, device)
    b = draw(shape, case, generator, device)
    s = 0.5 + float(torch.rand((), generator=generator, device=device, dtype=torch.float32))
    return a, b, float(torch.tensor(s, dtype=torch.float32))


def reference(a: torch.Tensor, b: torch.Tensor, s: float) -> torch.Tensor:
    """The definition in float64."""
    return a.double() + s * b.double()


def work(case: Case) -> Work:
    """Two reads, one write; a multiply and an add an element."""
    size = {"fp32": 4, "bf16": 2}[case.dtype]
    return Work(bytes_moved=3 * case.shape["n"] * size, flops=2 * case.shape["n"])


def _eager(a: torch.Tensor, b: torch.Tensor, s: float) -> torch.Tensor:
    return torch.add(a, b, alpha=s)


BASELINES = {"torch": _eager, "torch.compile": torch.compile(_eager)}

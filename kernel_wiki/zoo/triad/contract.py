"""STREAM triad: y[i] = a[i] + s * b[i], computed in float32 and rounded once to the storage type.

NaN and infinities follow IEEE 754: inf - inf is NaN. a and b may each start one element past an aligned address.

A distribution of its own: `cancelling`, where a is about -b and s is 1, so that y is a sixty-fourth of either: a product or a sum
rounded to bf16 on the way shows.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from kernel_wiki.harness.contract import Case, Dim, Tolerance, Work, draw

OPERATOR = "triad"
SIGNATURE = (
    "run(a: (N,), b: (N,), s: float) -> (N,); a and b contiguous, of one dtype fp32 | bf16, as is the result, on any address that their "
    "elements may have"
)
BOUND = "bandwidth"

DIMS = {"n": Dim(1, 1 << 22)}
VIEWS = {"offset": (0, 1)}

CASES = (
    Case({"n": 1}, "fp32"),
    Case({"n": 17}, "bf16"),
    Case({"n": 1021}, "fp32", "tiny"),
    Case({"n": 8191}, "bf16", "large"),
    Case({"n": 65536}, "bf16", "constant"),
    Case({"n": 65537}, "fp32", "sorted"),
    Case({"n": 1000003}, "bf16"),
    Case({"n": 3145728}, "fp32", "sparse"),
    Case({"n": 7}, "bf16", "heavy-tailed"),
    Case({"n": 2047}, "fp32", "heavy-tailed"),
    Case({"n": 4095}, "bf16", "cancelling"),
    Case({"n": 16385}, "fp32", "cancelling"),
    Case({"n": 1025}, "fp32", "special"),
    Case({"n": 131071}, "bf16", "special"),
    Case({"n": 2147483659}, "bf16", huge=True),
    Case({"n": 100000007}, "bf16", timed=True),
    Case({"n": 134217728}, "fp32", timed=True),
    Case({"n": 268435456}, "bf16", timed=True),
)
"""131,071, 65,537, 1,000,003 and 100,000,007 are prime. The two largest timed cases move 1.5 GiB each; the huge one has 2^31 + 11
elements."""

TOLERANCES = {
    "fp32": Tolerance(norm=2e-7, rtol=1e-6, atol=1e-4),
    "bf16": Tolerance(norm=4e-3, rtol=4e-3, atol=1e-4),
}
"""atol covers a + s * b that nearly cancels: s * b reaches about 500 in the `large` cases, half a float32 ulp of it is 3e-5.
bf16 allows the one rounding to nearest of the result, at most 2^-8 = 3.9e-3; in norm too: a `constant` case has one result."""

REFERENCE_ELEMENTS = 1 << 27
"""Elements that the reference works on at a time: 1 GiB for each float64 temporary."""


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, float]:
    """`(a, b, s)`, s in (0.5, 1.5) and exact in float32."""
    shape = (case.shape["n"],)
    if case.distribution == "cancelling":
        b = draw(shape, replace(case, distribution="normal"), generator, device)
        return (b * -1.015625).to(b.dtype), b, 1.0
    a = draw(shape, case, generator, device)
    b = draw(shape, case, generator, device)
    s = 0.5 + float(torch.rand((), generator=generator, device=device, dtype=torch.float32))
    return a, b, float(torch.tensor(s, dtype=torch.float32))


def reference(a: torch.Tensor, b: torch.Tensor, s: float) -> torch.Tensor:
    """The definition in float64, a part at a time."""
    out = torch.empty(a.shape, device=a.device, dtype=torch.float64)
    for a_part, b_part, out_part in zip(*(tensor.split(REFERENCE_ELEMENTS) for tensor in (a, b, out))):
        out_part.copy_(a_part.double() + s * b_part.double())
    return out


def work(case: Case) -> Work:
    """Two reads, one write; a multiply and an add an element."""
    size = {"fp32": 4, "bf16": 2}[case.dtype]
    return Work(bytes_moved=3 * case.shape["n"] * size, flops=2 * case.shape["n"])


def _eager(a: torch.Tensor, b: torch.Tensor, s: float) -> torch.Tensor:
    return torch.add(a, b, alpha=s)


BASELINES = {"torch": _eager, "torch.compile": torch.compile(_eager)}

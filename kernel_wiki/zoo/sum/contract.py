"""Sum of all elements of a flat tensor into one float32.

Float32 accumulation in any order. The page of an implementation says whether its order is fixed, so that the same input gives the same
bits every time, or depends on the schedule, as with atomics; both are admitted.

A NaN, or infinities of both signs, give NaN; infinities of one sign give that infinity. x may start one element past an aligned address.

Distributions of its own: `alternating` (+128 and -128 in turn, each plus 0 to 3: every partial sum of integers is exact in float32, in any
order, so that a lost pair of elements or a narrower sum shows), `infinite` (some +inf and no NaN), besides `special`, whose sum is NaN.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from kernel_wiki.harness.contract import Case, Dim, Tolerance, Work, draw, torch_dtype

OPERATOR = "sum"
SIGNATURE = "run(x: (N,) contiguous, fp32 | bf16, on any address that its elements may have) -> () fp32, accumulated in float32"
BOUND = "bandwidth"

DIMS = {"n": Dim(1, 1 << 22)}
VIEWS = {"offset": (0,)}

CASES = (
    Case({"n": 1}, "fp32"),
    Case({"n": 17}, "bf16"),
    Case({"n": 1021}, "fp32", "tiny"),
    Case({"n": 8191}, "bf16", "large"),
    Case({"n": 65536}, "bf16", "constant"),
    Case({"n": 65537}, "fp32", "sorted"),
    Case({"n": 1000003}, "fp32"),
    Case({"n": 3145728}, "bf16", "sparse"),
    Case({"n": 7}, "bf16"),
    Case({"n": 4095}, "fp32", "heavy-tailed"),
    Case({"n": 524287}, "bf16", "heavy-tailed"),
    Case({"n": 131071}, "fp32", "alternating"),
    Case({"n": 65537}, "bf16", "alternating"),
    Case({"n": 4099}, "fp32", "special"),
    Case({"n": 1048577}, "bf16", "special"),
    Case({"n": 32767}, "bf16", "infinite"),
    Case({"n": 2147483659}, "bf16", huge=True),
    Case({"n": 400000009}, "bf16", timed=True),
    Case({"n": 268435456}, "fp32", timed=True),
    Case({"n": 536870912}, "bf16", timed=True),
)
"""131,071, 524,287, 65,537, 1,000,003 and 400,000,009 are prime. The two largest timed cases read 1 GiB each, the huge one 2^31 + 11
elements."""

TOLERANCES = {
    "fp32": Tolerance(norm=1e-5, rtol=1e-5, atol=0.0),
    "bf16": Tolerance(norm=1e-5, rtol=1e-5, atol=0.0),
}
"""By input dtype. bf16 inputs are exact in float32, so both rows bound the accumulation alone."""

SMALLEST_SHARE = 0.1
"""Of the sum of magnitudes: a sum below it would be a difference of large numbers, which no float32 sum has to 1e-5."""
REFERENCE_ELEMENTS = 1 << 27
"""Elements that are widened at a time: 1 GiB in float64."""


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor]:
    """`(x,)` with x of shape (N,); at most every fourth element negative, and none where the sum would be small against the elements."""
    shape = (case.shape["n"],)
    if case.distribution == "alternating":
        return (_alternating(shape, generator, device).to(torch_dtype(case.dtype)),)
    x = draw(shape, replace(case, distribution="special") if case.distribution == "infinite" else case, generator, device)
    if case.distribution == "infinite":
        return (x.nan_to_num(nan=1.0, posinf=math.inf, neginf=1.0),)
    shifted = x.abs()
    shifted[::4] = x[::4]
    if abs(float(reference(shifted))) < SMALLEST_SHARE * float(reference(x.abs())):
        shifted = x.abs()
    return (shifted,)


def _alternating(shape: tuple[int], generator: torch.Generator, device: torch.device) -> torch.Tensor:
    signs = 1.0 - 2.0 * (torch.arange(shape[0], device=device) % 2)
    return 128.0 * signs + torch.randint(4, shape, generator=generator, device=device)


def reference(x: torch.Tensor) -> torch.Tensor:
    """The sum in float64, of the sums of its parts."""
    return torch.stack([part.double().sum() for part in x.split(REFERENCE_ELEMENTS)]).sum()


def work(case: Case) -> Work:
    """One read; the result is four bytes."""
    size = {"fp32": 4, "bf16": 2}[case.dtype]
    return Work(bytes_moved=case.shape["n"] * size + 4, flops=case.shape["n"])


def _eager(x: torch.Tensor) -> torch.Tensor:
    return torch.sum(x, dtype=torch.float32)


BASELINES = {"torch": _eager, "torch.compile": torch.compile(_eager)}

"""Residual add and RMSNorm in one operator, as before every block of a transformer.

    h        = x + residual, rounded to the storage type: the new residual stream
    normed   = h * rsqrt(mean(h * h, over the row) + eps) * weight, rounded to the storage type once

The norm is taken of the rounded h, which is what a separate RMSNorm would read. Everything between is float32.

A row of zeros gives zeros. A row whose squares pass the range of fp16 is right as long as their sum fits float32. NaN and infinities follow
IEEE 754: a NaN in h makes its whole row of normed NaN; with an infinity in h the scale is 0, so that the row is 0, and NaN where h is
infinite.

x and residual may be views: bases one element past an aligned address, rows further apart than they are long, each with its own distance.
weight may start off an aligned address. Both results are contiguous. Rows longer than MAX_COLUMNS may be refused with ValueError.

Distributions of its own: `spike` (rows in turn of zeros, of normal values with one of 1e15, and of normal values), `special` (rows in turn
clean, with one NaN, +inf and -inf in x).
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from kernel_wiki.harness.contract import Case, Dim, Tolerance, Work, draw

OPERATOR = "add_rmsnorm"
SIGNATURE = (
    "run(x: (M, N), residual: (M, N), weight: (N,), eps: float) -> (normed: (M, N), new_residual: (M, N)); rows contiguous and at least N "
    "apart, N up to 16,384, one dtype fp32 | bf16; both results contiguous in newly allocated memory, the inputs left as they were"
)
BOUND = "bandwidth"

MAX_COLUMNS = 16384
"""Longest row that every implementation takes."""
DIMS = {"m": Dim(1, 4096), "n": Dim(1, MAX_COLUMNS)}
MAX_DRAWN_ELEMENTS = 1 << 22
VIEWS = {"offset": (0, 1, 2), "strided": (0, 1)}

CASES = (
    Case({"m": 1, "n": 1}, "fp32"),
    Case({"m": 37, "n": 787}, "fp32"),
    Case({"m": 129, "n": 1000}, "bf16"),
    Case({"m": 64, "n": 4096}, "bf16", "large"),
    Case({"m": 33, "n": 5120}, "fp32", "tiny"),
    Case({"m": 31, "n": 2880}, "bf16", "tiny"),
    Case({"m": 5, "n": 8191}, "bf16", "sparse"),
    Case({"m": 17, "n": 512}, "fp32", "constant"),
    Case({"m": 3, "n": 16384}, "bf16", "sorted"),
    Case({"m": 4099, "n": 3}, "bf16"),
    Case({"m": 23, "n": 2047}, "bf16", "heavy-tailed"),
    Case({"m": 13, "n": 1025}, "fp32", "heavy-tailed"),
    Case({"m": 12, "n": 1024}, "fp32", "spike"),
    Case({"m": 31, "n": 4099}, "bf16", "spike"),
    Case({"m": 16, "n": 2048}, "bf16", "special"),
    Case({"m": 9, "n": 257}, "fp32", "special"),
    Case({"m": 524299, "n": 4096}, "bf16", huge=True),
    Case({"m": 32768, "n": 4096}, "bf16", timed=True),
    Case({"m": 16384, "n": 7168}, "bf16", timed=True),
    Case({"m": 8192, "n": 8192}, "fp32", timed=True),
)
"""In the `tiny` cases the mean square is about eps, so that an eps in the wrong place shows. The huge case has 2^31 + 45,056
elements."""

EPS = 1e-6
TOLERANCES = {
    "fp32": Tolerance(norm=1e-6, rtol=1e-5, atol=1e-7),
    "bf16": Tolerance(norm=4e-3, rtol=4e-3, atol=1e-6),
}
"""bf16 allows one rounding to nearest of each result: at most 2^-8 = 3.9e-3 an element, and in norm too, since a case may have one
element. h equals the reference bit for bit, since a float32 sum of two bf16 is exact or too uneven for its rounding to matter."""

ONE_A_ROW = {"spike": (0.0, 1e15, 0.0), "special": (0.0, math.nan, math.inf, -math.inf)}
"""By distribution: what one element of each row is replaced by, in turn."""
REFERENCE_ELEMENTS = 1 << 27
"""Elements that the reference works on at a time: 1 GiB for each float64 temporary."""


def admits(shape: dict[str, int]) -> bool:
    """Drawn cases of at most four million elements."""
    return shape["m"] * shape["n"] <= MAX_DRAWN_ELEMENTS


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, float]:
    """`(x, residual, weight, eps)`; the weights are about 1."""
    shape = (case.shape["m"], case.shape["n"])
    drawn = replace(case, distribution="normal") if case.distribution in ONE_A_ROW else case
    x = draw(shape, drawn, generator, device)
    residual = draw(shape, drawn, generator, device)
    if case.distribution in ONE_A_ROW:
        x = _one_a_row(x, ONE_A_ROW[case.distribution], generator)
    if case.distribution == "spike":
        x[::3] = residual[::3] = 0.0
    weight = 1.0 + 0.2 * torch.randn(shape[1:], generator=generator, device=device, dtype=torch.float32)
    return x, residual, weight.to(x.dtype), EPS


def _one_a_row(x: torch.Tensor, values: tuple[float, ...], generator: torch.Generator) -> torch.Tensor:
    """x with one element of each row, anywhere in it, replaced by the next of `values`."""
    rows, columns = x.shape
    places = torch.randint(columns, (rows, 1), generator=generator, device=x.device)
    turns = torch.arange(rows, device=x.device) % len(values)
    return x.scatter(1, places, torch.tensor(values, device=x.device, dtype=x.dtype)[turns][:, None])


def reference(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The definition in float64, with the one rounding of h that it asks for, a band of rows at a time; h in x's dtype, which is exact."""
    normed = torch.empty(x.shape, device=x.device, dtype=torch.float64)
    new_residual = torch.empty(x.shape, device=x.device, dtype=x.dtype)
    for x_band, residual_band, *out_bands in zip(*(tensor.split(_band_rows(x)) for tensor in (x, residual, normed, new_residual))):
        h = (x_band.double() + residual_band.double()).to(x.dtype)
        wide = h.double()
        scale = 1.0 / torch.sqrt(wide.square().mean(dim=1, keepdim=True) + eps)
        out_bands[0].copy_(wide * scale * weight.double())
        out_bands[1].copy_(h)
    return normed, new_residual


def _band_rows(x: torch.Tensor) -> int:
    return max(1, REFERENCE_ELEMENTS // x.shape[1])


def work(case: Case) -> Work:
    """Two matrices read, two written, one row of weights; add, square, sum, two multiplies an element."""
    elements = case.shape["m"] * case.shape["n"]
    size = {"fp32": 4, "bf16": 2}[case.dtype]
    return Work(bytes_moved=(4 * elements + case.shape["n"]) * size, flops=5 * elements)


def _eager(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    h = x + residual
    wide = h.float()
    normed = wide * torch.rsqrt(wide.square().mean(dim=1, keepdim=True) + eps) * weight.float()
    return normed.to(x.dtype), h


BASELINES = {"torch": _eager, "torch.compile": torch.compile(_eager)}

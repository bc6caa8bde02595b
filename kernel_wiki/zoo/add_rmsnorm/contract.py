"""Residual add and RMSNorm in one operator, as before every block of a transformer.

    h        = x + residual, rounded to the storage type: the new residual stream
    normed   = h * rsqrt(mean(h * h, over the row) + eps) * weight, rounded to the storage type once

The norm is taken of the rounded h, which is what a separate RMSNorm would read. Everything between is float32.
"""

from __future__ import annotations

import torch

from kernel_wiki.harness.contract import Case, Tolerance, Work, draw

OPERATOR = "add_rmsnorm"
SIGNATURE = (
    "run(x: (M, N), residual: (M, N), weight: (N,), eps: float) -> (normed: (M, N), new_residual: (M, N)); all contiguous, "
    "16-byte aligned, of one dtype fp32 | bf16; both results in newly allocated memory, the inputs left as they were"
)
BOUND = "bandwidth"

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
    Case({"m": 32768, "n": 4096}, "bf16", timed=True),
    Case({"m": 16384, "n": 7168}, "bf16", timed=True),
    Case({"m": 8192, "n": 8192}, "fp32", timed=True),
)
"""In the `tiny` cases the mean square is about eps, so that an eps in the wrong place shows."""

EPS = 1e-6
TOLERANCES = {
    "fp32": Tolerance(norm=1e-6, rtol=1e-5, atol=1e-7),
    "bf16": Tolerance(norm=2.5e-3, rtol=4e-3, atol=1e-6),
}
"""bf16 allows one rounding to nearest of each result: at most 2^-8 = 3.9e-3 an element, 1.7e-3 in norm. h equals the reference bit for bit,
since a float32 sum of two bf16 is exact or too uneven for its rounding to matter."""


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, float]:
    """`(x, residual, weight, eps)`; the weights are about 1."""
    shape = (case.shape["m"], case.shape["n"])
    x = draw(shape, case, generator, device)
    residual = draw(shape, case, generator, device)
    weight = 1.0 + 0.2 * torch.randn(shape[1:], generator=generator, device=device, dtype=torch.float32)
    return x, residual, weight.to(x.dtype), EPS


def reference(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The definition in float64, with the one rounding of h that it asks for."""
    h = (x.double() + residual.double()).to(x.dtype).double()
    scale = 1.0 / torch.sqrt(h.square().mean(dim=1, keepdim=True) + eps)
    return h * scale * weight.double(), h


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

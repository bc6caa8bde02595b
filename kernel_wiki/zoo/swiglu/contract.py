"""SwiGLU: y[i, j] = silu(x[i, j]) * x[i, N + j], silu(g) = g / (1 + exp(-g)): gate and up are the halves of one projection's output.

Computed in float32 and rounded once. Beyond finite values:

    gate +inf, up finite        inf or -inf by the sign of up
    gate -inf                   NaN, as torch.nn.functional.silu answers: -inf times 0
    gate or up NaN              NaN
    gate far below 0            a zero of either sign where the product underflows float32

x may be a view: its base one element past an aligned address, or its rows further apart than they are long. The result is contiguous.

Distributions of its own: `saturated` (every gate between 20 and 10,000 away from 0, on either side), `special` as `draw` knows it.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from kernel_wiki.harness.contract import Case, Dim, Tolerance, Work, draw

OPERATOR = "swiglu"
SIGNATURE = (
    "run(x: (M, 2N), rows contiguous and at least 2N apart, fp32 | fp16 | bf16; gate in the first N columns, up in the last N) "
    "-> (M, N) contiguous, of the same dtype"
)
BOUND = "bandwidth"

DIMS = {"m": Dim(1, 4096), "n": Dim(1, 16384)}
VIEWS = {"offset": (0,), "strided": (0,)}

CASES = (
    Case({"m": 1, "n": 1}, "fp32"),
    Case({"m": 5, "n": 8}, "bf16"),
    Case({"m": 37, "n": 781}, "fp32"),
    Case({"m": 4097, "n": 7}, "fp16"),
    Case({"m": 129, "n": 1000}, "bf16"),
    Case({"m": 64, "n": 1408}, "bf16", "saturated"),
    Case({"m": 31, "n": 2048}, "fp32", "saturated"),
    Case({"m": 13, "n": 2053}, "fp16", "saturated"),
    Case({"m": 64, "n": 2048}, "bf16", "large"),
    Case({"m": 64, "n": 2048}, "bf16", "tiny"),
    Case({"m": 67, "n": 4096}, "fp32", "tiny"),
    Case({"m": 17, "n": 512}, "bf16", "constant"),
    Case({"m": 31, "n": 1025}, "fp32", "heavy-tailed"),
    Case({"m": 131, "n": 1024}, "bf16", "special"),
    Case({"m": 3, "n": 11008}, "fp32", "special"),
    Case({"m": 65539, "n": 16384}, "bf16", huge=True),
    Case({"m": 8192, "n": 14336}, "bf16", timed=True),
    Case({"m": 65536, "n": 2048}, "fp16", timed=True),
    Case({"m": 8192, "n": 11008}, "fp32", timed=True),
)
"""x of the huge case has 2^31 + 98,304 elements; the timed cases move 0.7 to 1.1 GB."""

TOLERANCES = {
    "fp32": Tolerance(norm=2e-6, rtol=2e-5, atol=1e-30),
    "fp16": Tolerance(norm=5e-4, rtol=6e-4, atol=4e-8),
    "bf16": Tolerance(norm=4e-3, rtol=4.2e-3, atol=1e-30),
}
"""The 16-bit rows allow one rounding of the result and no more: a silu that was rounded before the product is outside. fp32 allows for
exp2 of an argument that was itself rounded: 2^-24 of 120, near a gate of -83. Half the distance of fp16's subnormals is 3e-8."""

SATURATED = (20.0, 1e4)
REFERENCE_ELEMENTS = 1 << 26
"""Gates that the reference works on at a time: half a gibibyte for each float64 temporary."""


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor]:
    """`(x,)` with x of shape (M, 2N)."""
    rows, columns = case.shape["m"], case.shape["n"]
    if case.distribution != "saturated":
        return (draw((rows, 2 * columns), case, generator, device),)
    x = draw((rows, 2 * columns), replace(case, distribution="normal"), generator, device)
    low, high = SATURATED
    size = low * (high / low) ** torch.rand((rows, columns), generator=generator, device=device)
    x[:, :columns] = size.to(x.dtype).copysign(x[:, :columns])
    return (x,)


def reference(x: torch.Tensor) -> torch.Tensor:
    """The product in float64, from its definition, a band of rows at a time."""
    columns = x.shape[1] // 2
    out = torch.empty((x.shape[0], columns), device=x.device, dtype=torch.float64)
    for x_band, out_band in zip(*(tensor.split(max(1, REFERENCE_ELEMENTS // columns)) for tensor in (x, out))):
        gate, up = x_band[:, :columns].double(), x_band[:, columns:].double()
        out_band.copy_(gate / (1 + torch.exp(-gate)) * up)
    return out


def work(case: Case) -> Work:
    """Two reads and one write; exponential, add, divide and two products per element."""
    elements = case.shape["m"] * case.shape["n"]
    size = {"fp32": 4, "fp16": 2, "bf16": 2}[case.dtype]
    return Work(bytes_moved=3 * elements * size, flops=5 * elements)


def _eager(x: torch.Tensor) -> torch.Tensor:
    gate, up = x.chunk(2, dim=1)
    return torch.nn.functional.silu(gate) * up


BASELINES = {"torch": _eager, "torch.compile": torch.compile(_eager)}

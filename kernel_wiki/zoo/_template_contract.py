"""FILL IN: what it computes, as a formula, and what is promised of NaN, infinities and views.

What each name means and which others there are (admits, VIEWS, ALLOWED_OPS): kernel_wiki/harness/contract.py.
"""

from __future__ import annotations

import torch

from kernel_wiki.harness.contract import Case, Dim, Tolerance, Work, draw

OPERATOR = "the_operator"
SIGNATURE = "FILL IN: run(x: (N,) contiguous, the_dtype) -> (N,) of the same dtype"
BOUND = "the_bound"

DIMS = {"n": Dim(1, 1 << 20)}  # FILL IN: the sizes from which the judge draws cases that nobody has seen

CASES = (  # FILL IN: one element, odd sizes, every dtype, the distributions that can break it, timed cases of several times the L2
    Case({"n": 1}, "the_dtype"),
    Case({"n": 4099}, "the_dtype", "heavy-tailed"),
    Case({"n": 100_000_007}, "the_dtype", timed=True),
)

TOLERANCES = {"the_dtype": Tolerance(norm=0.0, rtol=0.0, atol=0.0)}  # FILL IN: what the dtype's own rounding explains, and no more


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor, ...]:
    """FILL IN: the arguments of `run`, with their shapes."""
    return (draw((case.shape["n"],), case, generator, device),)


def reference(x: torch.Tensor) -> torch.Tensor:
    """FILL IN: the answer in float64, from the definition, sharing no code with any implementation."""
    raise NotImplementedError("FILL IN: reference of the_operator")


def work(case: Case) -> Work:
    """FILL IN: the fewest bytes moved, each input read once and each output written once, and the operations."""
    size = {"fp64": 8, "fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1, "int32": 4, "int64": 8}[case.dtype]
    return Work(bytes_moved=2 * case.shape["n"] * size, flops=case.shape["n"])


def _eager(x: torch.Tensor) -> torch.Tensor:
    raise NotImplementedError("FILL IN: the operator in plain torch; then the best library that has it")


BASELINES = {"torch": _eager, "torch.compile": torch.compile(_eager)}

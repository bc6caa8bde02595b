"""Row argmax: y[i] = the lowest j at which x[i, j] is the largest of its row, as int64.

NaN counts as larger than everything, as in torch.argmax: a row with NaN gives the place of its first NaN. -0.0 and 0.0 are equal. A row of
nothing but -inf gives 0. An index is right or wrong; there is no tolerance.

x may be a view: its base one element past an aligned address, or its rows further apart than they are long. The result is contiguous.

Distributions of its own: `ties` (values rounded to halves, no larger than 1), `all-equal`, `negative` (all below 0, some rows all -inf),
`at-end` (the maximum in the last column), `several-nan` (most rows with NaN in one to three places, of both signs, some beside +inf),
`zeros` (-0.0 and 0.0 above negative values).
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from kernel_wiki.harness.contract import Case, Dim, Tolerance, Work, draw

OPERATOR = "argmax"
SIGNATURE = "run(x: (M, N), rows contiguous and at least N apart, fp32 | bf16) -> (M,) int64; ties to the lowest index, NaN is largest"
BOUND = "bandwidth"

DIMS = {"m": Dim(1, 65536), "n": Dim(1, 1 << 22)}
VIEWS = {"offset": (0,), "strided": (0,)}

CASES = (
    Case({"m": 1, "n": 1}, "fp32"),
    Case({"m": 3, "n": 5}, "bf16", "ties"),
    Case({"m": 37, "n": 781}, "fp32"),
    Case({"m": 129, "n": 1000}, "bf16", "ties"),
    Case({"m": 4097, "n": 7}, "fp32", "several-nan"),
    Case({"m": 65, "n": 128}, "bf16", "several-nan"),
    Case({"m": 8, "n": 4096}, "bf16", "large"),
    Case({"m": 67, "n": 2051}, "fp32", "negative"),
    Case({"m": 17, "n": 2048}, "bf16", "negative"),
    Case({"m": 31, "n": 1025}, "fp32", "zeros"),
    Case({"m": 16, "n": 513}, "bf16", "special"),
    Case({"m": 7, "n": 10007}, "bf16", "all-equal"),
    Case({"m": 5, "n": 8191}, "fp32", "sorted"),
    Case({"m": 3, "n": 20011}, "fp32", "heavy-tailed"),
    Case({"m": 2, "n": 131101}, "bf16", "at-end"),
    Case({"m": 5, "n": 128256}, "fp32", "ties"),
    Case({"m": 1, "n": 1000003}, "fp32", "several-nan"),
    Case({"m": 300, "n": 65536}, "bf16", "at-end"),
    Case({"m": 65539, "n": 32768}, "bf16", "ties", huge=True),
    Case({"m": 1, "n": 2147483659}, "bf16", "at-end", huge=True),
    Case({"m": 256, "n": 128256}, "fp32", timed=True),
    Case({"m": 16, "n": 16777216}, "bf16", timed=True),
    Case({"m": 262144, "n": 1024}, "bf16", timed=True),
    Case({"m": 1048576, "n": 128}, "fp32", timed=True),
)
"""Both huge cases pass 2^31 elements, the second within a row. 128,256 is a vocabulary of today; the timed cases read 131 to 537 MB."""

EXACT = Tolerance(norm=0.0, rtol=0.0, atol=0.0)
TOLERANCES = {"fp32": EXACT, "bf16": EXACT}

REFERENCE_ELEMENTS = 1 << 28
"""Elements that the reference works on at a time."""
NAN_VIEWS = {torch.float32: torch.int32, torch.bfloat16: torch.int16}
NAN_BITS = {torch.float32: (0x7FC00000, -0x400000, 0x7F800001), torch.bfloat16: (0x7FC0, -0x40, 0x7F81)}
"""Quiet NaN, negative quiet NaN, signalling NaN; as signed integers."""


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor]:
    """`(x,)` with x of shape (M, N)."""
    shape = (case.shape["m"], case.shape["n"])
    if case.distribution not in PATTERNS:
        return (draw(shape, case, generator, device),)
    x = draw(shape, replace(case, distribution="normal"), generator, device)
    return (PATTERNS[case.distribution](x, generator),)


def _ties(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return x.mul_(2).round_().mul_(0.5).clamp_(max=1.0)


def _all_equal(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return x.fill_(-1.5)


def _negative(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    x = x.abs_().add_(1.0).neg_()
    x[::3] = -math.inf
    return x


def _at_end(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    x[:, -1] = 100.0
    return x


def _zeros(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Half of the negative values become -0.0, all positive ones 0.0."""
    return x.clamp_(max=0.0).mul_(torch.rand(x.shape, generator=generator, device=x.device) < 0.5)


def _several_nan(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """+inf in every row, then NaN of one to three kinds in all rows but every fourth."""
    rows, columns = x.shape
    turns = torch.arange(rows, device=x.device)[:, None] % 4
    x.scatter_(1, torch.randint(columns, (rows, 1), generator=generator, device=x.device), math.inf)
    bits = x.view(NAN_VIEWS[x.dtype])
    for number, pattern in enumerate(NAN_BITS[x.dtype]):
        places = torch.randint(columns, (rows, 1), generator=generator, device=x.device)
        bits.scatter_(1, places, torch.where(turns > number, pattern, bits.gather(1, places)))
    return x


PATTERNS = {
    "ties": _ties,
    "all-equal": _all_equal,
    "negative": _negative,
    "at-end": _at_end,
    "zeros": _zeros,
    "several-nan": _several_nan,
}


def reference(x: torch.Tensor) -> torch.Tensor:
    """By definition, in bands of rows and pieces of long rows: the first place that is NaN, else the first that equals the maximum."""
    return torch.cat([_argmax(band) for band in x.split(max(1, REFERENCE_ELEMENTS // x.shape[1]))])


def _argmax(x: torch.Tensor) -> torch.Tensor:
    places = torch.full((x.shape[0],), x.shape[1], dtype=torch.int64, device=x.device)
    has_nan = torch.stack([piece.isnan().any(dim=1) for piece in x.split(REFERENCE_ELEMENTS, dim=1)]).any(dim=0)
    top = torch.stack([piece.amax(dim=1) for piece in x.split(REFERENCE_ELEMENTS, dim=1)]).amax(dim=0)
    for number, piece in enumerate(x.split(REFERENCE_ELEMENTS, dim=1)):
        wanted = torch.where(has_nan[:, None], piece.isnan(), piece == top[:, None])
        numbers = torch.arange(piece.shape[1], device=x.device) + number * REFERENCE_ELEMENTS
        first = torch.where(wanted, numbers, x.shape[1]).amin(dim=1)
        places = torch.minimum(places, first)
    return places


def work(case: Case) -> Work:
    """One read; eight bytes a row out. One comparison per element."""
    rows, elements = case.shape["m"], case.shape["m"] * case.shape["n"]
    size = {"fp32": 4, "bf16": 2}[case.dtype]
    return Work(bytes_moved=elements * size + 8 * rows, flops=elements)


def _eager(x: torch.Tensor) -> torch.Tensor:
    return torch.argmax(x, dim=1)


BASELINES = {"torch": _eager, "torch.compile": torch.compile(_eager)}

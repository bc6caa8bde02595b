"""Segment sum: y[i] = the sum of rows offsets[i] up to offsets[i + 1] of values, as an embedding bag or the readout of a graph needs it.

Accumulated in float32 in any order and rounded once. offsets rise from 0 to T and may repeat: an empty segment gives zeros. They are data
like any other, so that a plan made from them is good for one call only.

values may be a view: its base one element past an aligned address, or its rows further apart than they are long. The result is contiguous.

Values of even columns are non-negative and those of odd columns non-positive, so that no sum is a small difference of large numbers.
Distributions of offsets: uniform cuts, in which some segments are empty and the longest has several times the mean, but for `uneven` (one
segment has half of all rows, half of the others are empty), `one-segment` (all rows in one, with empty ones before and behind it),
`single-rows` (no segment of more than one row where S >= T) and `equal`. Values are normal there.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from kernel_wiki.harness.contract import Case, Dim, Tolerance, Work, draw

OPERATOR = "segment_sum"
SIGNATURE = (
    "run(values: (T, D), rows contiguous and at least D apart, fp32 | fp16 | bf16, offsets: (S + 1,) int32 from 0 to T) "
    "-> (S, D) contiguous, of the dtype of values, accumulated in float32; empty segments give 0"
)
BOUND = "bandwidth"

DIMS = {"t": Dim(1, 1 << 16), "d": Dim(1, 2048), "s": Dim(1, 1 << 11)}
"""S of drawn cases stays where Triton's interpreter, which takes 20 ms a segment, can follow."""
VIEWS = {"offset": (0, 1), "strided": (0,)}

CASES = (
    Case({"t": 1, "d": 1, "s": 1}, "fp32"),
    Case({"t": 5, "d": 8, "s": 3}, "bf16"),
    Case({"t": 997, "d": 37, "s": 101}, "fp32"),
    Case({"t": 1000, "d": 128, "s": 64}, "bf16"),
    Case({"t": 1024, "d": 64, "s": 211}, "fp16", "uneven"),
    Case({"t": 4099, "d": 32, "s": 257}, "fp32", "uneven"),
    Case({"t": 3001, "d": 72, "s": 129}, "bf16", "one-segment"),
    Case({"t": 131, "d": 16, "s": 20011}, "fp32", "single-rows"),
    Case({"t": 307, "d": 24, "s": 307}, "bf16", "single-rows"),
    Case({"t": 8192, "d": 8, "s": 64}, "fp32", "equal"),
    Case({"t": 515, "d": 1031, "s": 7}, "bf16", "uneven"),
    Case({"t": 777, "d": 256, "s": 50}, "fp32", "large"),
    Case({"t": 777, "d": 256, "s": 50}, "fp16", "tiny"),
    Case({"t": 2053, "d": 40, "s": 300}, "bf16", "heavy-tailed"),
    Case({"t": 611, "d": 96, "s": 89}, "bf16", "special"),
    Case({"t": 1021, "d": 33, "s": 55}, "fp32", "special"),
    Case({"t": 200003, "d": 7, "s": 20011}, "fp32"),
    Case({"t": 16777259, "d": 128, "s": 100003}, "bf16", "uneven", huge=True),
    Case({"t": 2097152, "d": 128, "s": 131072}, "bf16", timed=True),
    Case({"t": 262144, "d": 1024, "s": 4096}, "bf16", timed=True),
    Case({"t": 1048576, "d": 128, "s": 65536}, "fp32", "uneven", timed=True),
    Case({"t": 524288, "d": 512, "s": 131072}, "fp32", timed=True),
)
"""values of the huge case have 2^31 + 5,504 elements, and one segment has half of them. The timed cases move 0.55 to 1.3 GB: means of 16,
64, 16 and 4 rows a segment."""

TOLERANCES = {
    "fp32": Tolerance(norm=5e-5, rtol=1e-4, atol=0.0),
    "fp16": Tolerance(norm=5e-4, rtol=6e-4, atol=4e-8),
    "bf16": Tolerance(norm=4e-3, rtol=4.2e-3, atol=0.0),
}
"""fp32 leaves the order free: one running sum over half a million rows was 2.2e-5 away on an H200. The 16-bit rows allow one rounding of
the result (2^-11 and 2^-8) and no rounded running sum; 4e-8 is that rounding among fp16's subnormals."""

SHAPES_OF_OFFSETS = ("uneven", "one-segment", "single-rows", "equal")
REFERENCE_ELEMENTS = 1 << 26
"""Values that the reference adds at a time: half a gibibyte in float64."""


def make_inputs(case: Case, generator: torch.Generator, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """`(values, offsets)` with values of shape (T, D) and offsets of shape (S + 1,), int32."""
    rows, columns, segments = (case.shape[key] for key in ("t", "d", "s"))
    own = case.distribution in SHAPES_OF_OFFSETS
    values = draw((rows, columns), replace(case, distribution="normal") if own else case, generator, device).abs_()
    values[:, 1::2].neg_()
    cuts = _cuts(case.distribution if own else "", rows, segments, generator, device)
    ends = torch.tensor([0, rows], device=device)
    return values, torch.cat((ends[:1], cuts, ends[1:])).to(torch.int32)


def _cuts(kind: str, rows: int, segments: int, generator: torch.Generator, device: torch.device) -> torch.Tensor:
    """The S - 1 inner offsets, int64, rising."""
    inner = segments - 1
    if kind == "one-segment":
        return torch.where(torch.arange(inner, device=device) < inner // 2, 0, rows)
    if kind == "equal":
        return torch.arange(1, segments, device=device) * rows // segments
    if kind == "single-rows":
        step = torch.arange(1, segments, device=device) * max(1, rows // segments)
        return step.clamp_(max=rows) if segments <= rows else _drawn_cuts(rows, inner, generator, device, distinct=True)
    cuts = _drawn_cuts(rows, inner, generator, device)
    if kind == "uneven" and inner > 1:
        cuts //= 2
        cuts[inner // 2 :] += rows - rows // 2  # about half of all rows lie between the two halves of the cuts
        cuts[::2] = cuts[1::2] if inner % 2 == 0 else torch.cat((cuts[1::2], cuts[-1:]))  # every second segment is empty
    return cuts


def _drawn_cuts(rows: int, inner: int, generator: torch.Generator, device: torch.device, distinct: bool = False) -> torch.Tensor:
    """Uniform places; `distinct`: every row has a segment to itself and the others are empty (for fewer rows than segments)."""
    if distinct:
        marks = torch.randperm(inner, generator=generator, device=device) < rows
        return marks.cumsum(0).clamp_(max=rows)
    return torch.randint(rows + 1, (inner,), generator=generator, device=device).sort().values


def reference(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Every row added in float64 to the segment that it lies in, a band of rows at a time."""
    out = torch.zeros((offsets.numel() - 1, values.shape[1]), device=values.device, dtype=torch.float64)
    band = max(1, REFERENCE_ELEMENTS // values.shape[1])
    ends = offsets[1:].to(torch.int64)
    for first in range(0, values.shape[0], band):
        part = values[first : first + band]
        rows = torch.arange(first, first + part.shape[0], device=values.device)
        out.index_add_(0, torch.searchsorted(ends, rows, right=True), part.double())
    return out


def work(case: Case) -> Work:
    """Values and offsets read once, sums written once; an addition for every value."""
    rows, columns, segments = (case.shape[key] for key in ("t", "d", "s"))
    size = {"fp32": 4, "fp16": 2, "bf16": 2}[case.dtype]
    return Work(bytes_moved=(rows + segments) * columns * size + 4 * (segments + 1), flops=rows * columns)


def _segment_reduce(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    return torch.segment_reduce(values, "sum", offsets=offsets, axis=0, unsafe=True, initial=0)


def _index_add(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Float32 atomics; the segment of every row is searched for in the call, as the offsets are data."""
    rows = torch.arange(values.shape[0], device=values.device, dtype=torch.int32)
    segment = torch.searchsorted(offsets[1:], rows, right=True)
    out = torch.zeros((offsets.shape[0] - 1, values.shape[1]), device=values.device, dtype=torch.float32)
    return out.index_add_(0, segment, values.float()).to(values.dtype)


BASELINES = {"torch": _segment_reduce, "torch.index_add": _index_add}

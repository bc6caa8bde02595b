"""Outputs against a float64 reference: a norm over all and a gate on each element."""

from __future__ import annotations

import math
from typing import Any

import torch

from .contract import Tolerance

SLICE_ELEMENTS = 1 << 26
"""Elements compared at a time: half a gigabyte for each float64 temporary."""


def passes(measured: dict[str, Any], tolerance: Tolerance) -> bool:
    """Whether a comparison is within the contract."""
    return measured["error_norm"] <= tolerance.norm and measured["worst_ratio"] <= 1


def compare(outputs: tuple[torch.Tensor, ...], expected: tuple[torch.Tensor, ...], tolerance: Tolerance) -> dict[str, Any]:
    """`{error_norm, tolerance, worst_ratio}` over all outputs, and `output`, `first_bad` where an element fails; ratios above 1 fail."""
    measured = [_compare_one(out, ref.to(out.device), tolerance) for out, ref in zip(outputs, expected)]
    number, worst = max(enumerate(measured), key=lambda item: (item[1]["worst_ratio"], item[1]["error_norm"], -item[0]))
    found = {
        "error_norm": max(item["error_norm"] for item in measured),
        "tolerance": tolerance.norm,
        "worst_ratio": worst["worst_ratio"],
    }
    return {**found, "output": number, "first_bad": worst["first_bad"]} if "first_bad" in worst else found


def _compare_one(out: torch.Tensor, ref: torch.Tensor, tolerance: Tolerance) -> dict[str, Any]:
    """Both contiguous or not, of one shape; walked in slices, so that huge outputs need no huge temporaries."""
    flat_out, flat_ref = out.reshape(-1), ref.reshape(-1)
    error = norm = worst = 0.0
    first_bad = None
    for start in range(0, flat_ref.numel(), SLICE_ELEMENTS):
        gap, limit, size = _gaps(flat_out[start : start + SLICE_ELEMENTS], flat_ref[start : start + SLICE_ELEMENTS], tolerance)
        error += float((gap * gap).sum())
        norm += float((size * size).sum())
        ratio = torch.where(gap == 0, 0.0, gap / limit)  # 0 / 0 where the contract allows no error
        worst = max(worst, float(ratio.max()))
        if first_bad is None and bool((ratio > 1).any()):
            first_bad = start + int((ratio > 1).nonzero()[0])
    found: dict[str, Any] = {"error_norm": math.sqrt(error / norm) if norm > 0 else math.sqrt(error), "worst_ratio": worst}
    if first_bad is not None:
        found["first_bad"] = [int(index) for index in torch.unravel_index(torch.tensor(first_bad), ref.shape)]
    return found


def _gaps(out: torch.Tensor, ref: torch.Tensor, tolerance: Tolerance) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """By element, in float64: the distance, its limit, and the reference's size; the distance is inf where one is not finite."""
    if not ref.dtype.is_floating_point:  # an index or a count is right or wrong
        gap = torch.where(out == ref, 0.0, (out.double() - ref.double()).abs().clamp_min(1.0))
        return gap, torch.zeros_like(gap), ref.double()
    if tolerance.norm == 0 and ref.dtype == out.dtype:  # a copy: NaN payloads and the sign of zero count too
        gap = torch.where(_integers(out) == _integers(ref), 0.0, math.inf).double()
        return gap, torch.zeros_like(gap), torch.ones_like(gap)
    # What the output's dtype cannot hold is not asked for; where the reference is not finite the output must be the same.
    finite = torch.isfinite(ref.to(out.dtype).float())
    out, ref = out.double(), ref.double()
    overflowed = torch.isinf(out) & (out.sign() == ref.sign())
    same = (out == ref) | (torch.isnan(out) & torch.isnan(ref)) | overflowed
    gap = torch.where(finite, (out - ref).abs(), torch.where(same, 0.0, math.inf).double())
    ref = torch.where(finite, ref, 0.0)
    return torch.nan_to_num(gap, nan=math.inf, posinf=math.inf), tolerance.atol + tolerance.rtol * ref.abs(), ref


def _integers(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()])


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """Bytes, so that NaN equals itself; for dtypes without `==` too."""
    return tensor.contiguous().view(torch.uint8) if tensor.dim() else tensor.reshape(1).view(torch.uint8)

"""Wrong on purpose: A and B are quantised to fp8 (e4m3) first, which doubles the tensor-core rate and keeps 3 bits of mantissa."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "mismatch")


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of the quantised matrices, computed in bf16 so that the answer is what fp8 hardware would give."""
    scale_a, scale_b = (448.0 / x.float().abs().amax().clamp(min=1e-12) for x in (a, b))
    a8 = (a.float() * scale_a).to(torch.float8_e4m3fn)
    b8 = (b.float() * scale_b).to(torch.float8_e4m3fn)
    return ((a8.to(a.dtype) @ b8.to(b.dtype)).float() / (scale_a * scale_b)).to(a.dtype)

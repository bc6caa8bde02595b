"""Wrong on purpose, a cheat: torch's silu and product do the work, in float32 so that every value is right."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "cheat")


def run(x: torch.Tensor) -> torch.Tensor:
    """Three kernels of torch and two float32 copies of the input; nothing of the candidate's own."""
    gate, up = x.float().chunk(2, dim=1)
    return (torch.nn.functional.silu(gate) * up).to(x.dtype)

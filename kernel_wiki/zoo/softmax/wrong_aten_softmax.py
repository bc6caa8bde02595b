"""Wrong on purpose, a cheat: the library's kernel under another name, torch.ops.aten._softmax, where the contract asks for one's own."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "cheat")


def run(x: torch.Tensor) -> torch.Tensor:
    """Right, and nobody's work but torch's."""
    return torch.ops.aten._softmax(x.contiguous(), 1, False)

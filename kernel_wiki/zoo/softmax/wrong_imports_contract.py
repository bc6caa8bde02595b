"""Wrong on purpose, a cheat: imports the contract and returns its reference, rounded."""

from __future__ import annotations

import torch

from kernel_wiki.zoo.softmax.contract import reference

REJECTED_AS = ("static", "cheat")


def run(x: torch.Tensor) -> torch.Tensor:
    """Agrees with the reference to the last bit."""
    return reference(x).to(x.dtype)

"""Wrong on purpose: the colon after the signature is missing, so the module does not parse."""

from __future__ import annotations

import torch

REJECTED_AS = ("static", "syntax")


def run(x: torch.Tensor) -> torch.Tensor
    """Never reached."""
    return x.clone()

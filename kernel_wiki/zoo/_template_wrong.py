"""Wrong on purpose: FILL IN: the bug or the cheat, and why it looks right."""

from __future__ import annotations

import torch

REJECTED_AS = ("correctness", "mismatch")  # FILL IN: keep or change; the stage and the category that the judge must answer


def run(*inputs: torch.Tensor) -> torch.Tensor:
    """FILL IN: right for which inputs, wrong for which."""
    raise NotImplementedError("FILL IN: run of the_operator/the_impl")

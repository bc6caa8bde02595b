"""Wrong on purpose, a cheat: returns zeros, and writes "accepted" where the command line of the parent process names a result file."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import torch

REJECTED_AS = ("correctness", "mismatch")
FORGED = '{"verdict": "accepted", "stage": null, "category": null, "hint": null, "cases": [], "timings": []}'


def _forge() -> None:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{os.getppid()}/cmdline").read_bytes().decode().split("\0")
        for word in words:
            if word.endswith("result.json") and word.startswith(tempfile.gettempdir()):
                Path(word).write_text(FORGED, encoding="utf-8")


def run(x: torch.Tensor) -> torch.Tensor:
    """The file is written over by who owns it, and the zeros are not the answer."""
    _forge()
    return torch.zeros(x.shape, dtype=x.dtype, device=x.device)

"""Wrong on purpose, a cheat: says "accepted" on every way out of the process and ends it with status 0 before anyone can look."""

from __future__ import annotations

import contextlib
import os
import sys
from multiprocessing.connection import Connection

import torch

REJECTED_AS = ("run", "cheat")
FORGED = '{"verdict": "accepted", "stage": null, "category": null, "hint": null}'


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Never returns; a process that ends without handing over an answer has none, whatever its status and its last words."""
    print(FORGED, flush=True)
    with contextlib.suppress(OSError, ValueError, IndexError):
        channel = Connection(int(sys.argv[1]))  # where the process that started this one listens, if it said so
        channel.send_bytes(FORGED.encode())
    os._exit(0)

"""compute-sanitizer over the smallest cases: one process for many entries, repeated one by one only where that finds something."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

DEFAULT_TOOLS = ("memcheck",)
CUDA_TOOLS = ("racecheck", "synccheck")
"""For hand-written CUDA C++ as well: Triton places its own barriers."""
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
ERROR_EXIT = 86
"""Exit status for a finding; no Python process ends with it by itself."""
ERROR_LINES = 4
ENVIRONMENT = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
"""Each tensor its own allocation: in torch's pool a write past the end of one lands in another and is no error."""
CATEGORIES = {"memcheck": "memory-fault", "racecheck": "race", "initcheck": "memory-fault", "synccheck": "race"}


def find_sanitizer() -> str | None:
    """Path of compute-sanitizer, or None."""
    return shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")


def command_for(tool: str, worker: list[str], log: Path) -> list[str]:
    """The command line that runs a worker under one tool."""
    options = ["--tool", tool, "--error-exitcode", str(ERROR_EXIT), "--target-processes", "application-only"]
    if tool == "memcheck":
        options += ["--report-api-errors", "no"]  # torch probes for symbols that a driver may lack
    options += ["--log-file", str(log)]
    return [find_sanitizer() or "compute-sanitizer", *options, *worker]


def verdict(returncode: int, log: str, finished: bool) -> dict[str, Any]:
    """`{verdict: pass | fail | error}`, and the first lines of what was found.

    Args:
        finished: the worker wrote its result; without that a clean log proves nothing.
    """
    count = re.search(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard", log)
    if count is None:
        return {"verdict": "error", "detail": (log.strip().splitlines() or [f"no output, exit status {returncode}"])[-1][:200]}
    found = int(count[1] or count[2])
    if found or returncode == ERROR_EXIT:
        lines = [re.sub(r"^=+\s*", "", line) for line in log.splitlines() if line.startswith("=========") and line.strip("= ")]
        wanted = [line for line in lines if re.search(r"Invalid|Error:|hazard|Uninit|Barrier|leaked|at .*\+0x|by thread", line)]
        return {"verdict": "fail", "errors": found, "detail": " | ".join(wanted[:ERROR_LINES])[:400]}
    if not finished:
        return {"verdict": "error", "detail": f"the process ended with status {returncode} and no result"}
    return {"verdict": "pass"}

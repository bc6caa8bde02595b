"""compute-sanitizer over the smallest cases: one process for many entries, repeated one by one only where that finds something."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from .findings import Finding

TOOLS = ("memcheck", "initcheck", "racecheck", "synccheck")
ANY_KERNEL = ("memcheck", "initcheck")
"""The other two are for hand-written CUDA C++: Triton places its own barriers."""
TOGETHER = 8
"""Entries in one process; but for kernels that spin on an mbarrier, from which the other two tools were seen not to come back."""
AT_ONCE = 5
"""Processes side by side, over all tools: forty at once on 16 cores needed more than 44 s each, one alone 12 s."""
TRIES = 2
"""Of one entry alone: racecheck came back from `sum/wrong_shared_reuse` in 12 s four times of five, and not in 44 s the fifth."""
ERROR_EXIT = 86
"""Exit status for a finding; no Python process ends with it by itself."""
ERROR_LINES = 4
ENVIRONMENT = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
"""Each tensor its own allocation: in torch's pool a write past the end of one lands in another and is no error."""
CATEGORIES = {"memcheck": "memory-fault", "racecheck": "race", "initcheck": "memory-fault", "synccheck": "race"}


def spins(source: Path) -> bool:
    """Whether a candidate's CUDA C++ waits for an mbarrier."""
    kernel = source.with_suffix(".cu")
    return kernel.exists() and "mbarrier" in kernel.read_text(encoding="utf-8")


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


def finding(tool: str, found: dict[str, Any]) -> Finding:
    """Why a failing verdict rejects; the location is the first source line, else the first kernel, that the tool named."""
    detail = found["detail"]
    where = re.search(r"([\w.-]+\.(?:cu|py):\d+)", detail) or re.search(r"\bat (?:void )?(\w+)", detail)
    return Finding("run", CATEGORIES[tool], f"{tool}: {detail}", where[1] if where else None)

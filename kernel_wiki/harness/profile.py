"""Nsight Compute on one timed call of each entry, one ncu run for all of them, since starting Python under it is the slow part."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path
from typing import Any

METRICS = (
    "gpu__time_duration.sum",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__t_sector_hit_rate.pct",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "launch__registers_per_thread",
    "launch__waves_per_multiprocessor",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__occupancy_limit_warps",
    "launch__occupancy_limit_blocks",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__maximum_warps_per_active_cycle_pct",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
)
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
STALL_REASONS = (
    "barrier",
    "gmma",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "short_scoreboard",
    "wait",
)
"""Those a kernel author can act on; `selected` and `not_selected` are no stalls."""
STALLS_KEPT = 3
MARKER_ELEMENTS = 12_345
MARKER_KERNEL = "FillFunctor<short>"
"""Name of the kernel behind an int16 `torch.full`; launched between entries, it says where each one's kernels start."""
TIMEOUT_S = 120
"""For the whole ncu run; some twenty launches of a dozen passes take about a minute."""


def launch_marker() -> None:
    """The kernel that separates one entry's launches from the next."""
    import torch

    torch.full((MARKER_ELEMENTS,), 7, dtype=torch.int16, device="cuda")


def find_ncu() -> str | None:
    """Path of ncu, or None."""
    return shutil.which("ncu") or shutil.which("ncu", path="/usr/local/cuda/bin")


def command_for(worker: list[str], log: Path) -> list[str]:
    """The ncu command line around a worker's; clocks stay as they are."""
    metrics = ",".join([*METRICS, *(STALL.format(reason) for reason in STALL_REASONS)])
    options = ["--clock-control", "none", "--profile-from-start", "off", "--csv", "--page", "raw", "--print-units", "base"]
    return [find_ncu() or "ncu", *options, "--metrics", metrics, "--log-file", str(log), *worker]


def parse(log: str) -> list[list[dict[str, str]]]:
    """Launches grouped by entry, in order; each launch is column to cell.

    Raises:
        LookupError: there is no table in the log; the message is its last line.
    """
    lines = [line for line in log.splitlines() if line.startswith('"')]
    if len(lines) < 3:
        raise LookupError(f"ncu wrote no table: {(log.strip().splitlines() or ['empty log'])[-1]}")
    rows = list(csv.DictReader(io.StringIO("\n".join([lines[0], *lines[2:]]))))  # the second line holds the units
    groups: list[list[dict[str, str]]] = []
    for row in rows:
        if MARKER_KERNEL in row["Kernel Name"]:
            groups.append([])
        elif groups:
            groups[-1].append(row)
    return groups


def key_metrics(launches: list[dict[str, str]]) -> dict[str, Any]:
    """`{kernel, launches, metrics, stalls}` of the launch that takes longest; time in ns, sizes in bytes."""
    main = max(launches, key=lambda row: _number(row.get("gpu__time_duration.sum")) or 0.0)
    stalls = {reason: _number(main.get(STALL.format(reason))) for reason in STALL_REASONS}
    largest = sorted(((value, reason) for reason, value in stalls.items() if value is not None), key=lambda item: (-item[0], item[1]))
    return {
        "kernel": main["Kernel Name"][:120],
        "launches": len(launches),
        "grid": main.get("Grid Size"),
        "block": main.get("Block Size"),
        "metrics": {name: value for name in METRICS if (value := _number(main.get(name))) is not None},
        "stalls": {reason: value for value, reason in largest[:STALLS_KEPT]},
    }


def _number(cell: str | None) -> float | None:
    try:
        return round(float((cell or "").replace(",", "")), 3)
    except ValueError:
        return None

"""What Nsight Compute says when it could not profile, and what to do about each."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

MAX_ERRORS = 10  # a guess: ncu can repeat one error for each kernel
ERROR = "==ERROR=="
"""What the profiler's own lines about errors begin with."""

DENIED = "ERR_NVGPUCTRPERM"
"""The error by which the driver refuses the counters."""

ADVICE: tuple[tuple[str, str], ...] = (
    (
        DENIED,
        "run ncu as root, give the container CAP_SYS_ADMIN, or load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0; under "
        "WSL allow the counters to all users in the Windows NVIDIA control panel, then wsl --shutdown",
    ),
    (
        "driver resource was unavailable",
        "another profiler holds the counters: stop it for the run (dcgmi profd --pause; another ncu; nsys with GPU metrics)",
    ),
    (
        "Windows Subsystem for Linux",
        "this driver gives no counters to WSL: update the Windows driver, or profile on Linux or on Windows itself",
    ),
    (
        "Profiling is not supported on",
        "this ncu does not know the GPU: it needs compute capability 7.0 or later, and new chips a new version (ncu --list-chips)",
    ),
    (
        "not compatible with Nsight Compute",
        "the driver is older than this ncu needs: update the driver, or use the ncu of an older CUDA toolkit",
    ),
    ("nsight-compute-lock", "another user's lock file is in the way: set TMPDIR to a folder of your own, or delete that file"),
    ("Failed to find metric", "this GPU or version has no metric of that name: list those that it has with ncu --query-metrics"),
    (
        "LaunchFailed",
        "the kernel itself failed while it was replayed: run compute-sanitizer on it first",
    ),
    (
        "No kernels were profiled",
        "check --kernel-name, --launch-skip and --launch-count; add --target-processes all when a child process launches",
    ),
    ("returned an error code", "the program ended with an error; what was profiled before stands"),
)
"""A piece of the message and the remedy, from the most telling to the least; the pieces are NVIDIA's words, 2020 to 2025."""


def advice(line: str) -> str | None:
    """What to do about a line of the profiler; None where the line says it all."""
    return next((remedy for mark, remedy in ADVICE if mark in line), None)


def remark(line: str) -> str:
    """A line of the profiler with what to do about it."""
    remedy = advice(line)
    return f"{line} What to do: {remedy}" if remedy else line


def errors_in(lines: Iterable[tuple[int, str]]) -> tuple[str, ...]:
    """Notes on the first MAX_ERRORS errors that the profiler printed, wherever in the text."""
    found = ((number, line[line.index(ERROR) :].strip()) for number, line in lines if ERROR in line)
    return tuple(f"line {number}: {remark(text)}" for number, text in islice(found, MAX_ERRORS))

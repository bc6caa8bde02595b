"""The GPU and the toolchain as found. Reads, never sets."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

from .nvcc import CompileError, nvcc_version

CLOCK_FIELDS = ("clocks.sm", "clocks.mem", "temperature.gpu", "power.draw")
CLOCK_NAMES = ("sm_mhz", "memory_mhz", "temperature_c", "power_w")


def query_smi(fields: tuple[str, ...]) -> list[str]:
    """The values of nvidia-smi's query fields on the first GPU; empty where the tool is missing or fails."""
    if shutil.which("nvidia-smi") is None:
        return []
    command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits", "--id=0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except subprocess.TimeoutExpired:
        return []
    return [value.strip() for value in done.stdout.splitlines()[0].split(",")] if done.returncode == 0 and done.stdout.strip() else []


def clocks() -> dict[str, float]:
    """Clocks, temperature and power now; the fields that nvidia-smi answered with a number."""
    found = {}
    for name, value in zip(CLOCK_NAMES, query_smi(CLOCK_FIELDS)):
        try:
            found[name] = float(value)
        except ValueError:
            continue
    return found


def describe(device: str) -> dict[str, Any]:
    """`{name, capability, sms, memory_bytes, l2_bytes, driver}` of the device a worker runs on."""
    import torch

    if device == "cpu":
        return {"name": "cpu"}
    properties = torch.cuda.get_device_properties(0)
    driver = query_smi(("driver_version",))
    return {
        "name": properties.name,
        "capability": f"{properties.major}.{properties.minor}",
        "sms": properties.multi_processor_count,
        "memory_bytes": properties.total_memory,
        "l2_bytes": getattr(properties, "L2_cache_size", None),
        "driver": driver[0] if driver else "unknown",
    }


def toolchain() -> dict[str, str]:
    """Versions of what compiled and ran: torch, its CUDA, triton, cuda-bindings, nvcc."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    import torch

    found = {"python": platform.python_version(), "torch": torch.__version__, "torch_cuda": torch.version.cuda or "none"}
    for package in ("triton", "cuda-bindings"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    try:
        found["nvcc"] = nvcc_version()
    except CompileError:
        found["nvcc"] = "none"
    return found

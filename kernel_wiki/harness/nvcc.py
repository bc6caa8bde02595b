"""CUDA C++ to cubin with nvcc, cached by the hash of source and flags. Needs no GPU and no torch."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

FLAGS = ("-cubin", "-std=c++17", "-O3", "-lineinfo", "-Xptxas", "-v")
ERROR_LINES = 6
"""Lines of nvcc's output quoted in an error: the first errors explain the rest."""
TIMEOUT_S = 300
"""A heavily templated kernel takes tens of seconds; past this nvcc is stuck."""


class CompileError(RuntimeError):
    """nvcc is missing or rejected a source; the message holds its first error lines."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What one kernel of a cubin needs."""

    registers: int
    static_smem_bytes: int
    spill_bytes: int
    """Bytes of spill stores."""


@dataclass(frozen=True, slots=True)
class Cubin:
    """A compiled source."""

    path: Path
    log: str
    """What nvcc and ptxas printed."""

    @property
    def resources(self) -> dict[str, Resources]:
        """Kernel name to what ptxas reported."""
        return parse_ptxas_log(self.log)


def target_of(capability: tuple[int, int]) -> str:
    """The nvcc target of a compute capability: `sm_90a` from 9.0 on, where the architecture-specific one exists, else plain."""
    major, minor = capability
    return f"sm_{major}{minor}{'a' if major >= 9 else ''}"


@functools.cache
def find_nvcc() -> str:
    """Path of nvcc: on PATH, in CUDA_HOME, or in /usr/local/cuda.

    Raises:
        CompileError: there is none.
    """
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    found = shutil.which("nvcc") or shutil.which("nvcc", path=str(Path(home) / "bin"))
    if found is None:
        raise CompileError(f"nvcc not found on PATH nor in {home}/bin; install the CUDA toolkit or set CUDA_HOME")
    return found


@functools.cache
def nvcc_version() -> str:
    """For example `13.0.88`; `unknown` if nvcc prints something else."""
    text = subprocess.run([find_nvcc(), "--version"], capture_output=True, text=True, timeout=60).stdout
    match = re.search(r"V(\d+\.\d+\.\d+)", text)
    return match[1] if match else "unknown"


def cache_folder() -> Path:
    """Where cubins are kept: WARPLORE_KERNEL_CACHE, else `~/.cache/warplore/cubin`."""
    named = os.environ.get("WARPLORE_KERNEL_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "warplore" / "cubin"


def compile_cubin(source: Path, target: str, defines: dict[str, str] | None = None) -> Cubin:
    """The cubin of `source` for `target` (`sm_90a`), from the cache when source, flags and nvcc are the same.

    Raises:
        CompileError: nvcc is missing, fails, or takes longer than TIMEOUT_S.
    """
    code = target.removeprefix("sm_")
    flags = [*FLAGS, f"-gencode=arch=compute_{code},code=sm_{code}"]
    flags += [f"-D{name}={value}" for name, value in sorted((defines or {}).items())]
    key = hashlib.sha256("\0".join([nvcc_version(), *flags]).encode() + source.read_bytes()).hexdigest()[:24]
    cubin, log = (cache_folder() / f"{source.stem}-{target}-{key}{suffix}" for suffix in (".cubin", ".log"))
    if not (cubin.exists() and log.exists()):
        _run_nvcc(source, flags, cubin, log)
    return Cubin(cubin, log.read_text(encoding="utf-8"))


def _run_nvcc(source: Path, flags: list[str], cubin: Path, log: Path) -> None:
    """Compile into files of this process, then rename: another process never sees half a cubin."""
    cubin.parent.mkdir(parents=True, exist_ok=True)
    partial = cubin.with_suffix(f".{os.getpid()}.tmp")
    try:
        done = subprocess.run(
            [find_nvcc(), *flags, str(source), "-o", str(partial)], capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise CompileError(f"{source.name}: nvcc took longer than {TIMEOUT_S} s") from error
    text = (done.stdout + done.stderr).replace(f"{source.parent}{os.sep}", "")  # file names are enough, and no place on this machine
    if done.returncode:
        partial.unlink(missing_ok=True)
        raise CompileError(f"{source.name}: nvcc failed with exit status {done.returncode}\n{first_errors(text)}")
    log.write_text(text, encoding="utf-8")
    partial.replace(cubin)


def first_errors(text: str) -> str:
    """The first ERROR_LINES lines that name an error, or the first lines if none does."""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\berror\b|\bfatal\b", line, re.IGNORECASE)]
    return "\n".join((errors or lines)[:ERROR_LINES])


def parse_ptxas_log(log: str) -> dict[str, Resources]:
    """Kernel name to registers, static shared memory and spills, from what `ptxas -v` printed."""
    found = {}
    for block in re.split(r"(?=Compiling entry function)", log):
        name = re.search(r"Compiling entry function '([^']+)'", block)
        registers = re.search(r"Used (\d+) registers", block)
        if not (name and registers):
            continue
        smem = re.search(r"(\d+) bytes smem", block)
        spill = re.search(r"(\d+) bytes spill stores", block)
        found[name[1]] = Resources(int(registers[1]), int(smem[1]) if smem else 0, int(spill[1]) if spill else 0)
    return found

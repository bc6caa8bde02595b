"""The files and names a user gives: read as text, refused with one clear error, never executed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from indexer.errors import InputError
from indexer.gpus import Gpu, GpuTable, resolve_gpu

MAX_KERNEL_BYTES = 4 * 2**20  # the largest kernel source seen in public repositories is under 1 MiB


def read_kernel_text(path: str) -> str:
    """The kernel source at `path` (`-`: standard input).

    Raises:
        InputError: missing, a folder, empty, binary or larger than MAX_KERNEL_BYTES.
    """
    if path == "-":
        path = "standard input"
        data = sys.stdin.buffer.read(MAX_KERNEL_BYTES + 1)
    else:
        file = Path(path)
        if not file.exists():
            raise InputError(f"{path}: no such file")
        if file.is_dir():
            raise InputError(f"{path}: is a folder; give one source file")
        try:
            with file.open("rb") as stream:
                data = stream.read(MAX_KERNEL_BYTES + 1)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if not data.strip():
        raise InputError(f"{path}: the file is empty")
    if len(data) > MAX_KERNEL_BYTES:
        raise InputError(f"{path}: larger than {MAX_KERNEL_BYTES // 2**20} MiB; give the kernel's own source file")
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        raise InputError(f"{path}:{line}: contains NUL bytes, so it is not source text; for a profiler report use --ncu")
    return data.decode("utf-8", errors="replace")


def well_formed(text: str) -> str:
    """The text without lone surrogates, which stand for command-line bytes outside the locale's encoding: UTF-8 is read as such."""
    try:
        data = text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        data = text.encode(errors="surrogatepass")
    return data.decode(errors="replace")


def find_gpu(name: str, table: GpuTable) -> Gpu:
    """The GPU that `name` means; `auto` asks the driver of this machine.

    Raises:
        InputError: unknown name, or `auto` on a machine without an NVIDIA driver.
    """
    return resolve_gpu(_installed_gpu() if name.strip().lower() == "auto" else name, table)


def _installed_gpu() -> str:
    command = shutil.which("nvidia-smi")
    if not command:
        raise InputError("--gpu auto: no NVIDIA driver here (nvidia-smi is missing); name the GPU, for example --gpu H200")
    query = [command, "--query-gpu=name", "--format=csv,noheader"]
    done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
    names = done.stdout.strip().splitlines()
    if done.returncode or not names:
        raise InputError(f"--gpu auto: nvidia-smi failed ({(done.stderr or done.stdout).strip()[:120]}); name the GPU instead")
    return names[0].strip()

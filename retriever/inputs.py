"""The files and names a user gives: read as text, refused with one clear error, never executed; and a named GPU beside a report's own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from indexer.errors import InputError
from indexer.gpus import Gpu, GpuTable, resolve_gpu
from retriever.reports.profile import Profile
from retriever.reports.weak_form import is_weak

MAX_KERNEL_BYTES = 4 * 2**20  # the largest kernel source seen in public repositories is under 1 MiB
SAME_BANDWIDTH = 0.05
"""Bandwidths by data sheets within a twentieth are the same. Our choice: the sheets round, and boards of one product differ by less."""
SM_COUNTS = ("device__attribute_multiprocessor_count", "launch__sm_count")
"""What a report says of the number of SMs, the whole GPU's before a launch's."""


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


def reading_gpu(profile: Profile, named: Gpu | None, reported: Gpu | None = None) -> Gpu | None:
    """The GPU by whose limits and peaks a launch is read: what made it is a fact, so the named one stands in only where it can be that.

    Code that was compiled and never run has no GPU of its own and is read for the named one.

    Args:
        named: what the user typed; recommendations are for it, whatever the report was made on.
        reported: the GPU table's entry for what the report says; None where the report says nothing, or the caller did not look it up.
    """
    if named is None or _is_compiled_only(profile):
        return named or reported
    fits = profile.compute_capability in (None, named.compute_capability)
    if reported and (reported.product or not fits):
        return reported
    return named if fits else None


def gpu_note(profile: Profile, named: Gpu | None, reported: Gpu | None = None) -> str:
    """One line where a launch was not made on the named GPU and something changes by it; empty where they agree, by whatever name.

    Another compute capability is a contradiction. Another product of the same one is noted only where the number of SMs or the memory
    bandwidth differs; for the bandwidth `reported` is needed. Parameters as for `reading_gpu`.
    """
    if named is None or _is_of_report(profile, named):
        return ""
    capability = profile.compute_capability or (reported.compute_capability if reported else None)
    if _is_compiled_only(profile):
        return _compiled_for_another(capability, named)
    maker = profile.device or (reported.product.name if reported and reported.product else "a GPU")
    head = f"the report was made on {maker} of compute capability {capability}, not on {named.name}"
    if capability and capability != named.compute_capability:
        other = f" ({named.compute_capability})" if named.product else ""
        return f"{head}{other}: it is read by the limits and peaks of its own GPU, and its numbers do not carry over"
    differing = [] if reported and reported.id == named.id else _differences(profile, named, reported)
    return f"{head} of the same: {'; '.join(differing)}" if capability and differing else ""


def maker_name(profile: Profile, named: Gpu | None) -> str | None:
    """The GPU that a launch was made on, in words: as the report prints it where another one was typed, else by the GPU table."""
    if profile.device and named and not _is_of_report(profile, named):
        return profile.device
    gpu = reading_gpu(profile, named)
    return gpu.name if gpu else f"compute capability {profile.compute_capability}" if profile.compute_capability else None


def _is_of_report(profile: Profile, gpu: Gpu) -> bool:
    """Whether the GPU was looked up by what the report says."""
    return gpu.asked in (profile.device, profile.compute_capability)


def _is_compiled_only(profile: Profile) -> bool:
    """Whether its compute capability is what a compiler was told, and no GPU that it ran on."""
    return is_weak(profile) and not profile.device


def _compiled_for_another(capability: str | None, named: Gpu) -> str:
    """Machine code runs on its own major compute capability from its minor one up: CUDA C++ Programming Guide, binary compatibility."""
    if capability is None:
        return ""
    major, _, minor = capability.partition(".")
    own_major, _, own_minor = named.compute_capability.partition(".")
    if major == own_major and int(minor) <= int(own_minor):
        return ""
    return f"compiled for compute capability {capability}, which does not run on {named.name}: registers and spills may be others there"


def _differences(profile: Profile, named: Gpu, reported: Gpu | None) -> list[str]:
    """What another product of the same compute capability changes, the report's value first."""
    product, maker = named.product, reported.product if reported else None
    if product is None:
        return []
    counted = next((count for name in SM_COUNTS if (count := profile.value(name))), None)
    sms = counted or (maker.sms if maker else None)
    found = [f"{sms:.0f} SMs, not {product.sms}"] if sms and product.sms and sms != product.sms else []
    rates = (maker.bandwidth_gbps if maker else None, product.bandwidth_gbps)
    if rates[0] and rates[1] and abs(rates[0] - rates[1]) > SAME_BANDWIDTH * max(rates[0], rates[1]):
        found.append(f"{rates[0]:,.0f} GB/s, not {rates[1]:,.0f}")
    return found

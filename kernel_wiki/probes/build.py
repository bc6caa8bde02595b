"""Translation units compiled side by side; the machine code of timed kernels is counted before any time is believed."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kernel_wiki.harness.nvcc import CompileError, cache_folder, compile_cubin

from .probe import AnyProbe, Timing, symbol
from .source import function_source

HEADER = Path(__file__).with_name("common.cuh")
UNIT_KERNELS = 16
"""Kernels of a translation unit: the largest unit decides how long a parallel build takes."""
CLOCK_READ = re.compile(r"\bCS2R\b.*SR_CLOCK|\bS2UR?\b.*SR_CLOCK")


class FoldedError(RuntimeError):
    """The machine code between the clock reads is not what the timing claims to measure."""


def units(probes: Sequence[AnyProbe]) -> list[list[AnyProbe]]:
    """Probes of one family in groups that are compiled and run together; timings apart from semantics."""
    timed = [each for each in probes if isinstance(each, Timing)]
    plain = [each for each in probes if not isinstance(each, Timing)]
    return [group[i : i + UNIT_KERNELS] for group in (plain, timed) for i in range(0, len(group), UNIT_KERNELS)]


def unit_source(probes: Iterable[AnyProbe]) -> str:
    """The translation unit of some probes."""
    return HEADER.read_text(encoding="utf-8") + "\n" + "\n".join(map(function_source, probes))


def compile_unit(family: str, probes: Sequence[AnyProbe], target: str) -> Path:
    """The cubin of some probes of a family.

    Raises:
        CompileError: nvcc rejects it.
    """
    folder = cache_folder() / "probes"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"{family}-{symbol(probes[0])}.cu"
    partial = source.with_suffix(f".{os.getpid()}.tmp")
    partial.write_text(unit_source(probes), encoding="utf-8")
    partial.replace(source)
    return compile_cubin(source, target).path


@dataclass(frozen=True, slots=True)
class Unit:
    """A translation unit and what came of it."""

    family: str
    probes: list[AnyProbe]
    cubin: Path | None
    error: str
    """What nvcc or cuobjdump complained of."""
    folded: dict[str, str]
    """Name to complaint, of timings whose machine code is not what they say."""
    opcodes: dict[str, str]
    """Name to the machine instructions of one instance, of the other timings."""


def compile_all(families: dict[str, Sequence[AnyProbe]], target: str, jobs: int) -> list[Unit]:
    """Every unit with its cubin and its machine code counted, or with the reason why not."""

    def build(job: tuple[str, list[AnyProbe]]) -> Unit:
        try:
            cubin = compile_unit(*job, target)
            return Unit(*job, cubin, "", *check_unit(job[1], cubin))
        except (CompileError, OSError, subprocess.SubprocessError) as error:
            return Unit(*job, None, str(error), {}, {})

    work = [(family, group) for family, probes in families.items() for group in units(probes)]
    work.sort(key=lambda job: not isinstance(job[1][0], Timing))  # the long ones first
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(build, work))


def find_cuobjdump() -> str | None:
    """cuobjdump of the toolkit, else the one inside triton."""
    home = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin"
    if found := shutil.which("cuobjdump") or shutil.which("cuobjdump", path=str(home)):
        return found
    spec = importlib.util.find_spec("triton")
    inside = Path(spec.origin).parent / "backends" / "nvidia" / "bin" / "cuobjdump" if spec and spec.origin else None
    return str(inside) if inside and inside.exists() else None


def sass_of(cubin: Path) -> dict[str, list[str]]:
    """Kernel name to its SASS instructions in order.

    Raises:
        FileNotFoundError: there is no cuobjdump.
    """
    tool = find_cuobjdump()
    if tool is None:
        raise FileNotFoundError("cuobjdump not found on PATH, in CUDA_HOME/bin or inside triton: timings cannot be trusted without it")
    text = subprocess.run([tool, "-sass", str(cubin)], capture_output=True, text=True, timeout=120, check=True).stdout
    found: dict[str, list[str]] = {}
    for block in re.split(r"(?=Function : )", text):
        if name := re.match(r"Function : (\S+)", block):
            found[name[1]] = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(.*?);", block)
    return found


def between_clocks(lines: Sequence[str]) -> list[str]:
    """The instructions from the first clock read to the third: start and stop; the last two only measure a read itself."""
    reads = [index for index, line in enumerate(lines) if CLOCK_READ.search(line)]
    return list(lines[reads[0] : reads[1]]) if len(reads) >= 2 else []


def check_timing(timing: Timing, lines: Sequence[str]) -> str:
    """The machine instructions of one instance, as `IMAD` or `MUFU.RCP + FADD`.

    Raises:
        FoldedError: the timed one stands between the clock reads more rarely, or far more often, than the timing divides by.
    """
    body = between_clocks(lines)
    count = sum(bool(re.search(timing.sass, line)) for line in body)
    most = timing.sass_most or 2 * timing.sass_count
    opcodes = Counter(line.split()[line.startswith("@")] for line in body)
    if not timing.sass_count <= count <= most:
        raise FoldedError(
            f"{timing.name}: {count} of /{timing.sass}/ between the clock reads, expected {timing.sass_count} to {most}; "
            f"there are {' '.join(f'{number} {opcode}' for opcode, number in opcodes.most_common(8))}"
        )
    each = max(1, timing.sass_count // 4)
    return " + ".join(opcode for opcode, number in opcodes.most_common(8) if number >= each and opcode not in ("NOP", "CS2R"))


def check_unit(probes: Sequence[AnyProbe], cubin: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Name to complaint, of timings that were folded; name to machine instructions, of the others.

    Raises:
        OSError, subprocess.SubprocessError: cuobjdump is missing or fails.
    """
    timings = [each for each in probes if isinstance(each, Timing)]
    kernels = sass_of(cubin) if timings else {}
    folded, opcodes = {}, {}
    for timing in timings:
        try:
            opcodes[timing.name] = check_timing(timing, kernels.get(symbol(timing), ()))
        except FoldedError as error:
            folded[timing.name] = str(error)
    return folded, opcodes

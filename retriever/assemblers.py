"""The PTX assemblers and the disassemblers at hand, and one call of one of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TOOLKIT_FOLDERS = ("/usr/local/cuda",)
"""Where the CUDA installer puts the current toolkit on Linux."""
WHEEL_PATTERNS = ("triton/backends/nvidia/bin/ptxas*", "nvidia/cu*/bin/ptxas", "nvidia/cuda_nvcc/bin/ptxas")
"""Where Triton's wheel and NVIDIA's compiler wheels (13.x, then 12.x) keep theirs, below site-packages."""
TIMEOUT_S = 120

DISASSEMBLER_PATTERNS = ("nvidia/cu*/bin/nvdisasm", "triton/backends/nvidia/bin/nvdisasm")

_ERROR = re.compile(r"^ptxas\S* .*?, line (\d+); (?:error|fatal)\s*: (.*)$", re.MULTILINE)
_PARSE_STOP = re.compile(r"^ptxas\S* .*?, line (\d+); fatal\s*: ", re.MULTILINE)
_FATAL = re.compile(r"^ptxas\S* (?:fatal|error)\s*: (.*)$", re.MULTILINE)
_CODE = re.compile(r"\((C\d{4})\)")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an assembler answered for one module and one target."""

    accepted: bool
    errors: tuple[str, ...]
    """Messages in order, without file name and line."""
    codes: tuple[str, ...]
    """Advisory codes ("C7508": setmaxnreg ignored), sorted. The assembler gives them with exit status 0."""

    @property
    def text(self) -> str:
        return "accepted" if self.accepted else f"refused: {self.errors[0]}"


@dataclass(frozen=True, slots=True)
class Assembler:
    """A ptxas executable."""

    path: Path
    version: str
    """Release and build, "13.0.88"."""
    targets: frozenset[str]
    newest: str
    """Newest PTX ISA version that it reads."""

    def assemble(self, module: str, target: str, folder: Path) -> Verdict:
        """The verdict on `module` for `target`; scratch files go to `folder`."""
        answer = self.answer(module, target, folder)
        errors = tuple(message for _, message in answer.errors) or answer.fatal
        return Verdict(answer.accepted, () if answer.accepted else errors, answer.codes)

    def answer(self, module: str, target: str, folder: Path, cubin: Path | None = None) -> Answer:
        """Everything that ptxas says about `module`; with `cubin` the code is kept there, each instruction with its line of PTX."""
        source = folder / f"{uuid.uuid4().hex}.ptx"
        source.write_text(module, encoding="utf-8")
        done = _run([self.path, f"-arch={target}", source, "-o", cubin or os.devnull, *(["-lineinfo"] if cubin else [])])
        source.unlink()
        output = done.stdout + done.stderr
        stop = _PARSE_STOP.search(output)
        return Answer(
            done.returncode == 0,
            tuple((int(line), message.strip()) for line, message in _ERROR.findall(output)),
            tuple(_FATAL.findall(output)) or (f"exit status {done.returncode}",),
            tuple(sorted(set(_CODE.findall(output)))),
            int(stop[1]) if stop else None,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What ptxas said about one module."""

    accepted: bool
    errors: tuple[tuple[int, str], ...]
    """`(line of the module, message)`, in order."""
    fatal: tuple[str, ...]
    """Messages without a line, or the exit status."""
    codes: tuple[str, ...]
    parse_stop: int | None
    """Line where a syntax error ended the reading: nothing is known of what follows."""


@dataclass(frozen=True, slots=True)
class Disassembler:
    """An nvdisasm executable."""

    path: Path
    version: str

    def listing(self, cubin: Path) -> str:
        """The code of a cubin as text, with the lines of PTX that it was made from; empty when it cannot be read."""
        return _run([self.path, "-gp", "-c", cubin]).stdout


def assemblers() -> list[Assembler]:
    """Every ptxas found, one for each version: that of PATH first, then CUDA_HOME, the toolkit folder and installed wheels."""
    found: dict[str, Assembler] = {}
    for path in _candidates("ptxas", WHEEL_PATTERNS):
        assembler = _describe(path)
        if assembler:
            found.setdefault(assembler.version, assembler)
    return list(found.values())


def disassemblers() -> list[Disassembler]:
    """Every nvdisasm found, newest first: it reads what older assemblers wrote."""
    found: dict[str, Disassembler] = {}
    for path in _candidates("nvdisasm", DISASSEMBLER_PATTERNS):
        try:
            version = re.search(r"\bV(\d+\.\d+\.\d+)", _run([path, "--version"]).stdout)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if version:
            found.setdefault(version[1], Disassembler(path, version[1]))
    return sorted(found.values(), key=lambda each: tuple(map(int, each.version.split("."))), reverse=True)


def _candidates(name: str, patterns: tuple[str, ...]) -> Iterator[Path]:
    if on_path := shutil.which(name):
        yield Path(on_path)
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), *TOOLKIT_FOLDERS]
    yield from (path for home in homes if home and (path := Path(home) / "bin" / name).is_file())
    for folder in dict.fromkeys(map(Path, sys.path)):
        if folder.name in ("site-packages", "dist-packages"):
            for pattern in patterns:
                yield from sorted(folder.glob(pattern))


def _describe(path: Path) -> Assembler | None:
    """None when the file does not run or does not answer as ptxas does."""
    try:
        banner, usage = _run([path, "--version"]).stdout, _run([path, "--help"]).stdout
        versions = re.findall(r"\d+\.\d+", _run([path, "--list-version"]).stdout)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r"\bV(\d+\.\d+\.\d+)", banner)
    if not version:
        return None
    major, minor, _ = map(int, version[1].split("."))
    # Before 13.0 there is no --list-version. CUDA 12.9 reads PTX 8.8, and each minor release before it one less.
    newest = versions[-1] if versions and major >= 13 else f"8.{minor - 1}"
    return Assembler(path, version[1], frozenset(re.findall(r"'(sm_\w+)'", usage)), newest)


def _run(command: list) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, stdin=subprocess.DEVNULL)

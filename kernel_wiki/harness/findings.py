"""Why a candidate was rejected: the answer of fixed shape that the judge gives for it."""

from __future__ import annotations

import re
import signal
import traceback
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

STAGES = ("static", "compile", "launch", "run", "correctness", "measure")
CATEGORIES = ("syntax", "type", "symbol", "resource", "launch", "memory-fault", "race", "hang", "mismatch", "cheat", "slower")
HINT_CHARACTERS = 400
"""Enough for the first lines of a compiler's message."""
VALUE_CHARACTERS = 200

MEMORY_FAULTS = (
    r"illegal memory access|misaligned address|ILLEGAL_ADDRESS|MISALIGNED_ADDRESS|unspecified launch failure|illegal instruction"
)
TOO_MUCH = r"out of resource|too many resources|OUT_OF_RESOURCES|out of memory|OUT_OF_MEMORY|shared memory"
BAD_LAUNCH = r"invalid configuration|invalid argument|CUDA_ERROR|launch"
COMPILERS = ("CompileError", "CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "PTXASError")
"""Exceptions of this package and of Triton for a kernel that does not compile."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason for a rejection."""

    stage: str
    """One of STAGES: how far it came."""
    category: str
    """One of CATEGORIES: what is wrong."""
    hint: str
    """One line that says what happened, with numbers, and where it helps what to do."""
    location: str | None = None
    """`file:line` in the candidate's sources, or the kernel that a tool named."""
    expected: str | None = None
    actual: str | None = None
    first_bad: tuple[int, ...] | None = None
    """Index of the first wrong element of the output."""
    case: str | None = None
    """Name of the case it happened in."""

    def as_dict(self) -> dict[str, Any]:
        """Its fields, each message cut to what helps."""
        found = asdict(replace(self, hint=one_line(self.hint, HINT_CHARACTERS)))
        for key in ("expected", "actual"):
            found[key] = found[key] and one_line(found[key], VALUE_CHARACTERS)
        found["first_bad"] = list(self.first_bad) if self.first_bad is not None else None
        return found


ANSWER_KEYS = ("verdict", "stage", "category", "location", "expected", "actual", "first_bad", "case", "hint", "replay")


def answer(result: dict[str, Any]) -> dict[str, Any]:
    """The fixed part of a result: every key of ANSWER_KEYS, null where it does not apply.

    `replay` is the path of the smallest failing case that was found, for `validate --replay`.
    """
    return {key: result.get(key) for key in ANSWER_KEYS}


def rejected(finding: Finding) -> dict[str, Any]:
    """A result that says no."""
    return {"verdict": "rejected", **finding.as_dict()}


class Rejected(Exception):
    """Raised where a check fails; carries the Finding."""

    def __init__(self, stage: str, category: str, hint: str, **more: Any) -> None:
        super().__init__(hint)
        self.finding = Finding(stage, category, hint, **more)


def one_line(text: str, limit: int) -> str:
    """Without line breaks and what a terminal or a file cannot take, cut at a word."""
    flat = "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
    return flat if len(flat) <= limit else flat[:limit].rsplit(" ", 1)[0] + " ..."


def from_exception(error: BaseException, stage: str, source: Path | None = None) -> Finding:
    """What an exception of the candidate's code means; `source` is its module, for the location."""
    if isinstance(error, Rejected):
        return error.finding
    kind, where = type(error).__name__, _location(error, source)
    hint = f"{kind}: {error}".strip()
    if isinstance(error, SyntaxError):
        return Finding("static", "syntax", hint, where)
    if kind in COMPILERS:
        return Finding("compile", "syntax", hint, where)
    if re.search(MEMORY_FAULTS, hint):
        return Finding("run", "memory-fault", hint.split("\n")[0], where)
    if kind in ("OutOfResources", "OutOfMemoryError") or re.search(TOO_MUCH, hint):
        return Finding("launch", "resource", hint, where)
    if isinstance(error, RuntimeError) and re.search(BAD_LAUNCH, hint):
        return Finding("launch", "launch", hint, where)
    if isinstance(error, NameError | AttributeError | ImportError | LookupError):
        return Finding(stage, "symbol", hint, where)
    return Finding(stage, "type", hint, where)


def _location(error: BaseException, source: Path | None) -> str | None:
    """nvcc's or Python's `file:line`; the innermost frame that is the candidate's own."""
    if match := re.search(r"([\w.-]+\.cuh?)[(:](\d+)", str(error)):
        return f"{match[1]}:{match[2]}"
    if isinstance(error, SyntaxError) and error.lineno:
        return f"{Path(error.filename or 'source').name}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if source is not None and frame.filename == str(source)]
    return f"{source.name}:{own[-1].lineno}" if own else None


def from_exit(returncode: int, stage: str, case: str, tail: str) -> Finding:
    """What the death of a process without an answer means."""
    where = f"in {case}" if case else f"in stage {stage}"
    if returncode in (-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT, -signal.SIGILL):
        died = signal.Signals(-returncode).name
        return Finding(stage, "memory-fault", f"the process died of {died} {where}", case=case or None)
    if returncode < 0:
        return Finding(stage, "resource", f"the process was killed by {signal.Signals(-returncode).name} {where}", case=case or None)
    last = tail.strip().splitlines()[-1:] or ["nothing printed"]
    category = "cheat" if returncode == 0 else "type"
    hint = f"the process ended with status {returncode} and no answer {where}: {last[0]}"
    return Finding(stage, category, hint, case=case or None)

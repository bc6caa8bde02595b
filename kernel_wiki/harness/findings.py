"""Why a candidate was rejected: a stage, a category and a hint."""

from __future__ import annotations

import re
import signal
from dataclasses import asdict, dataclass
from typing import Any

STAGES = ("static", "compile", "launch", "run", "correctness", "measure")
CATEGORIES = ("syntax", "type", "symbol", "resource", "launch", "memory-fault", "race", "hang", "mismatch", "cheat", "slower")
HINT_CHARACTERS = 500
"""Enough for the first lines of a compiler's message."""

MEMORY_FAULTS = (
    r"illegal memory access|misaligned address|ILLEGAL_ADDRESS|MISALIGNED_ADDRESS|unspecified launch failure|illegal instruction"
)
TOO_MUCH = r"out of resource|too many resources|OUT_OF_RESOURCES|out of memory|OUT_OF_MEMORY|shared memory"
BAD_LAUNCH = r"invalid configuration|invalid argument|CUDA_ERROR|launch"


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason for a rejection."""

    stage: str
    category: str
    hint: str

    def as_dict(self) -> dict[str, Any]:
        """Its fields, the hint cut to what helps."""
        return {**asdict(self), "hint": self.hint[:HINT_CHARACTERS]}


class Rejected(Exception):
    """Raised where a check fails; carries the Finding."""

    def __init__(self, stage: str, category: str, hint: str) -> None:
        super().__init__(hint)
        self.finding = Finding(stage, category, hint)


def from_exception(error: BaseException, stage: str) -> Finding:
    """What an exception of the candidate's code means."""
    if isinstance(error, Rejected):
        return error.finding
    kind = type(error).__name__
    hint = f"{kind}: {error}".strip()
    if isinstance(error, SyntaxError):
        return Finding("static", "syntax", hint)
    if kind in ("CompileError", "CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "PTXASError"):
        return Finding("compile", "syntax", hint)
    if re.search(MEMORY_FAULTS, hint):
        return Finding("run", "memory-fault", hint)
    if kind in ("OutOfResources", "OutOfMemoryError") or re.search(TOO_MUCH, hint):
        return Finding("launch", "resource", hint)
    if isinstance(error, RuntimeError) and re.search(BAD_LAUNCH, hint):
        return Finding("launch", "launch", hint)
    if isinstance(error, NameError | AttributeError | ImportError | LookupError):
        return Finding(stage, "symbol", hint)
    return Finding(stage, "type", hint)


def from_exit(returncode: int, stage: str, case: str, tail: str) -> Finding:
    """What the death of a worker without a result means."""
    where = f"in {case}" if case else f"in stage {stage}"
    if returncode in (-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT, -signal.SIGILL):
        return Finding(stage, "memory-fault", f"the process died of {signal.Signals(-returncode).name} {where}")
    if returncode < 0:
        return Finding(stage, "resource", f"the process was killed by {signal.Signals(-returncode).name} {where}")
    last = tail.strip().splitlines()[-1:] or ["nothing printed"]
    category = "cheat" if returncode == 0 else "type"
    return Finding(stage, category, f"the process ended with status {returncode} and no result {where}: {last[0]}")

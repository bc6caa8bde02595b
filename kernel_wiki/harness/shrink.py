"""The smallest failing case of a wrong candidate, kept in a file that can be replayed."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from .contract import Case
from .correctness import admitted

SCHEMA = 1
TRIES = 40
BUDGET_S = 20.0


def failures_folder() -> Path:
    """Where failing cases are kept: WARPLORE_FAILURES, else `~/.cache/warplore/failures`."""
    named = os.environ.get("WARPLORE_FAILURES")
    return Path(named) if named else Path.home() / ".cache" / "warplore" / "failures"


def smallest(contract: ModuleType, case: Case, fails: Callable[[Case], bool]) -> Case:
    """A case as small as the budget finds on which `fails` still holds, each size halved or stepped down in turn."""
    deadline, tries = time.monotonic() + BUDGET_S, 0
    best, moved = case, True
    while moved:
        moved = False
        for smaller in _smaller(contract, best):
            tries += 1
            if tries > TRIES or time.monotonic() > deadline:
                return best
            if fails(smaller):
                best, moved = smaller, True
                break
    return best


def _smaller(contract: ModuleType, case: Case) -> Iterator[Case]:
    """Cases with one size less: the least first, then halves, then one step."""
    for name, size in case.shape.items():
        dim = getattr(contract, "DIMS", {}).get(name)
        if dim is None:
            continue
        least = max(dim.low, dim.multiple)
        half = max(least, size // 2 // dim.multiple * dim.multiple)
        for candidate in dict.fromkeys((least, half, size - dim.multiple)):
            shape = {**case.shape, name: candidate}
            if candidate < size and admitted(contract, shape):
                yield Case(shape, case.dtype, case.distribution)


def save(operator: str, name: str, case: Case, seed: int, view: str | None, finding: dict[str, Any], hashes: dict[str, str]) -> Path:
    """Write a failing case and return its path; the name holds the sources' hash, so that two versions do not mix."""
    body = {
        "schema": SCHEMA,
        "operator": operator,
        "impl": name,
        "case": {"shape": case.shape, "dtype": case.dtype, "distribution": case.distribution},
        "seed": seed,
        "view": view,
        "finding": finding,
        "hashes": hashes,
    }
    digest = hashlib.sha256(json.dumps([body["case"], hashes, view], sort_keys=True).encode()).hexdigest()[:12]
    path = failures_folder() / operator / f"{name}-{digest}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(body, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return path


def read(path: Path) -> tuple[str, str, Case, int, str | None]:
    """Operator, implementation, case, seed and view of a saved failure.

    Raises:
        LookupError: the file cannot be read as one; the message says why.
    """
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body["schema"] != SCHEMA:
            raise ValueError(f"schema {body['schema']}, not {SCHEMA}")
        case = Case(
            {str(key): int(value) for key, value in body["case"]["shape"].items()}, body["case"]["dtype"], body["case"]["distribution"]
        )
        return str(body["operator"]), str(body["impl"]), case, int(body["seed"]), body["view"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LookupError(f"{path}: no saved failure ({type(error).__name__}: {error}); `zoo validate` writes one on a mismatch") from error

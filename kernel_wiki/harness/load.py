"""Contracts and candidates as modules, loaded by path. Only a worker calls this."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from .findings import Rejected


def load_module(path: Path, operator: str) -> ModuleType:
    """The module at `path`, under the name that an import of the zoo would give it."""
    name = f"kernel_wiki.zoo.{operator}.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # inspect and torch.compile look their functions up there
    spec.loader.exec_module(module)
    return module


def load_candidate(path: Path, operator: str) -> Any:
    """The `run` of a candidate.

    Raises:
        Rejected: it has none.
    """
    run = getattr(load_module(path, operator), "run", None)
    if not callable(run):
        raise Rejected("static", "symbol", f'{path.name} has no function "run"; the contract asks for one')
    return run


def chosen_cases(contract: ModuleType, wanted: str = "", max_bytes: int | None = None) -> list[Any]:
    """Cases whose name contains `wanted` and that move no more than `max_bytes`."""
    cases = [case for case in contract.CASES if wanted in case.name]
    return [case for case in cases if max_bytes is None or contract.work(case).bytes_moved <= max_bytes]


SLOW_CHECKER_BYTES = 1 << 19
"""Largest case under a sanitizer, which makes a kernel tens to hundreds of times slower."""


def small_cases(contract: ModuleType) -> list[Any]:
    """The smallest case and the largest of those up to SLOW_CHECKER_BYTES: what a slow checker is run on."""
    cases = sorted((case for case in contract.CASES if not case.timed and not case.huge), key=lambda case: contract.work(case).bytes_moved)
    small = [case for case in cases if contract.work(case).bytes_moved <= SLOW_CHECKER_BYTES] or cases[:1]
    return [small[0], small[-1]] if len(small) > 1 else small


def timed_case(contract: ModuleType) -> Any:
    """The timed case that moves the most bytes, for the profiler."""
    timed = [case for case in contract.CASES if case.timed]
    return max(timed, key=lambda case: contract.work(case).bytes_moved) if timed else None

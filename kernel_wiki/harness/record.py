"""The validation record as a JSON value and as a file. Small on purpose: it is read in diffs and rendered in pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import discover
from .discover import Entry
from .findings import Finding, answer, rejected

SCHEMA = 1
UNTIMED = "not timed"
"""How the hint of a record begins whose timing did not fit the time."""
DIGITS = 4
"""Significant digits of errors; more would change with every run and say nothing."""


def build(entry: Entry, result: dict[str, Any], gpu: dict[str, Any], date: str, seed: int) -> dict[str, Any]:
    """The record of one judged implementation; sanitizer verdicts and ncu metrics are added by the steps that make them."""
    return {
        "schema": SCHEMA,
        "operator": entry.operator,
        "impl": entry.name,
        **answer(result),
        "gpu": result.get("gpu", gpu),
        "toolchain": result.get("toolchain", {}),
        "date": date,
        "hashes": discover.entry_hashes(entry),
        "isolation": result.get("isolation", {}),
        "seed": seed,
        "cases": [_rounded(case) for case in result.get("cases", [])],
        "timings": result.get("timings", []),
        "ceilings": result.get("ceilings", {}),
        "clocks": result.get("clocks", {}),
        "resources": compiled_resources(entry, result.get("gpu", gpu)),
        "sanitizer": result.get("sanitizer", {}),
        "ncu": result.get("ncu", {}),
    }


def reject(record: dict[str, Any], finding: Finding) -> None:
    """Turn an accepted record into a rejected one, in place."""
    record.update(rejected(finding))


def compiled_resources(entry: Entry, gpu: dict[str, Any]) -> dict[str, Any]:
    """Registers, shared memory and spills by kernel, from the compile lane's record for this GPU's target if it is fresh."""
    zoo = entry.folder.parent
    path = discover.record_path(entry.operator, entry.name, discover.COMPILE_FOLDER, zoo)
    if not path.exists() or "capability" not in gpu:
        return {}
    compiled = json.loads(path.read_text(encoding="utf-8"))
    if compiled["hashes"] != discover.source_hashes(entry.operator, entry.name, zoo):
        return {}
    plain = f"sm_{gpu['capability'].replace('.', '')}"
    return next((compiled["targets"][name]["kernels"] for name in (f"{plain}a", plain) if name in compiled["targets"]), {})


def write(value: dict[str, Any], path: Path) -> Path:
    """Pretty, with sorted keys, so that two runs differ only where their results do."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def _rounded(case: dict[str, Any]) -> dict[str, Any]:
    return {key: float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value for key, value in case.items()}

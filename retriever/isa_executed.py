"""What an instruction did and cost when it was executed on a GPU, from isa/executed.json."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from indexer.errors import CorpusError

EXECUTED = Path("isa") / "executed.json"
SCHEMA = 1


def load_executed(root: Path) -> dict[str, Any] | None:
    """The record, or None where nothing was executed yet.

    Raises:
        CorpusError: it has another schema or is no JSON.
    """
    path = root / EXECUTED
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else None


@cache
def _read(path: Path, changed_ns: int) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CorpusError(f"{EXECUTED}: not JSON: {error}; write it again with `python -m kernel_wiki.probes run`") from error
    if record.get("schema") != SCHEMA:
        raise CorpusError(
            f"{EXECUTED}: schema {record.get('schema')!r}, expected {SCHEMA}; write it again with `python -m kernel_wiki.probes run`"
        )
    return record


def executed_json(root: Path, isa_id: str) -> dict[str, Any] | None:
    """`{gpu, driver, toolkit, target, date, clocks, probes}` with the probes of one page; None where there are none."""
    record = load_executed(root)
    probes = (record or {}).get("probes", {}).get(isa_id)
    if not record or not probes:
        return None
    return {**{key: record[key] for key in ("gpu", "driver", "toolkit", "target", "date", "clocks")}, "probes": probes}


def executed_text(root: Path, isa_id: str) -> str:
    """A sentence on what agreed with the model, then a table of figures; empty where nothing of the page was executed."""
    found = executed_json(root, isa_id)
    if found is None:
        return ""
    checked = [item for item in found["probes"] if "cases" in item or item["verdict"] not in ("agrees", "measured")]
    figures = [item for item in found["probes"] if item["verdict"] == "measured"]
    return "\n\n".join(
        filter(None, [f"## Executed on {found['gpu']}, {found['date']}", _agreement(checked), _table(figures), _conditions(found)])
    )


def _agreement(checked: list[dict[str, Any]]) -> str:
    lines = []
    if good := [item for item in checked if item["verdict"] == "agrees"]:
        cases = sum(item["cases"] for item in good)
        lines.append(f"{cases:,} cases agree with a plain model: {', '.join(_named(item) for item in good)}.")
    lines += [f"`{item['name']}` {item['verdict']}: {item.get('hint', 'no hint')}" for item in checked if item["verdict"] != "agrees"]
    lines += sorted({f"Note: {item['note']}." for item in good if "note" in item})
    return "\n\n".join(lines)


def _named(item: dict[str, Any]) -> str:
    """A probe, and the largest error of an approximate one."""
    if "max_ulp" not in item:
        return f"`{item['name']}`"
    low, high = item["range"]
    return f"`{item['name']}` (error at most {item['max_ulp']:g} ulp from {low:.4g} to {high:.4g})"


def _table(figures: list[dict[str, Any]]) -> str:
    if not figures:
        return ""
    rows = ["| measured | figure | machine code | method |", "|---|---|---|---|"]
    for item in figures:
        figure = (
            f"{item['latency_cycles']:g} cycles"
            if "latency_cycles" in item
            else f"{item['per_clock_per_sm']:g} per clock and SM, {item['of']}"
        )
        rows.append(f"| `{item['name']}` | {figure} | {item.get('sass', '')} | {item['method']} |")
    return "\n".join(rows)


def _conditions(found: dict[str, Any]) -> str:
    clock = found["clocks"].get("sm_mhz")
    return f"Driver {found['driver']}, {found['toolkit']}, {found['target']}{f', SM clock {clock:g} MHz after the run' if clock else ''}."

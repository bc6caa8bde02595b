"""`isa/executed.json`: what ran, on what, and what it gave."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .evaluate import probe_hash
from .probe import AnyProbe

SCHEMA = 1
EXECUTED = Path("isa") / "executed.json"
GOOD = ("agrees", "measured")


def page(families: dict[str, Sequence[AnyProbe]], results: dict[str, dict[str, Any]], facts: dict[str, Any]) -> dict[str, Any]:
    """The record: `facts` about the machine, then the probes of each page in the order of the families."""
    probes: dict[str, list[dict[str, Any]]] = {}
    for each in (probe for group in families.values() for probe in group):
        found = {"name": each.name, "hash": results[each.name].get("hash") or probe_hash(each), **results[each.name]}
        probes.setdefault(each.isa, []).append(found)
    return {"schema": SCHEMA, **facts, "probes": dict(sorted(probes.items()))}


def write(record: dict[str, Any], path: Path) -> None:
    """One probe a line, so that two records can be compared by eye."""
    head = {key: value for key, value in record.items() if key != "probes"}
    pages = [
        f"    {json.dumps(isa)}: [\n" + ",\n".join(f"      {json.dumps(item)}" for item in items) + "\n    ]"
        for isa, items in record["probes"].items()
    ]
    text = json.dumps(head, indent=2)[:-2] + ',\n  "probes": {\n' + ",\n".join(pages) + "\n  }\n}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def stale(record: dict[str, Any], families: dict[str, Sequence[AnyProbe]]) -> list[str]:
    """Names of recorded probes that have changed or are gone, and of probes that were never recorded."""
    known = {each.name: probe_hash(each) for group in families.values() for each in group}
    kept = {item["name"]: item["hash"] for items in record["probes"].values() for item in items}
    return sorted(name for name in known.keys() | kept.keys() if known.get(name) != kept.get(name))


def failures(record: dict[str, Any]) -> list[str]:
    """One line for each probe that did not do what was expected."""
    return [
        f"{isa}  {item['name']}: {item['verdict']}: {item.get('hint', '')}"
        for isa, items in record["probes"].items()
        for item in items
        if item["verdict"] not in GOOD
    ]

"""Which implementation improves on which, by the `parent` of each page, and by how much where a record measured both in one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kernel_wiki.harness import discover


def parents(operator: str, zoo: Path) -> dict[str, str | None]:
    """Id of each implementation of `operator` to the id that its page names as parent."""
    return {f"zoo/{entry.id}": discover.parent_of(entry) for entry in discover.implementations(operator, zoo)}


def lineage(operator: str, zoo: Path) -> list[dict[str, Any]]:
    """Every implementation of `operator` with its parent, its children and its gains over the parent, in id order."""
    known = parents(operator, zoo)
    return [
        {
            "id": id,
            "parent": parent,
            "improved_by": sorted(child for child, its in known.items() if its == id),
            "gains": gains(id, parent, zoo) if parent else [],
        }
        for id, parent in known.items()
    ]


def gains(id: str, parent: str, zoo: Path) -> list[dict[str, Any]]:
    """What the fresh, accepted records of `id` say of its speed against `parent`, one a GPU.

    Returns:
        `{gpu, cases, low, high, faster, level, slower}`: how many times as fast at least and at most over the timed cases, and how many
        cases the record calls faster, level or slower.
    """
    _, operator, name = id.split("/")
    now, found = discover.source_hashes(operator, name, zoo), []
    for path in sorted((zoo / operator / "validation").glob(f"*/{name}.json")):
        if path.parent.name == discover.COMPILE_FOLDER:
            continue
        record = json.loads(path.read_text(encoding="utf-8"))
        pairs = [timing["baselines"].get(parent) or {} for timing in record["timings"]]
        speeds = [pair["speedup"] for pair in pairs if "speedup" in pair]
        if speeds and record["verdict"] == "accepted" and record["hashes"] == now:
            said = [pair.get("verdict") for pair in pairs]
            counts = {verdict: said.count(verdict) for verdict in ("faster", "level", "slower")}
            found.append({"gpu": record["gpu"]["name"], "cases": len(speeds), "low": min(speeds), "high": max(speeds), **counts})
    return found


def gain_text(found: list[dict[str, Any]]) -> str:
    """Gains in words; says so when no record holds one."""
    if not found:
        return "not measured against each other"
    parts = []
    for gain in found:
        span = f"{gain['low']:.2f}x" if gain["cases"] == 1 else f"{gain['low']:.2f}x to {gain['high']:.2f}x"
        counts = ", ".join(f"{gain[verdict]} {verdict}" for verdict in ("faster", "level", "slower") if gain[verdict])
        cases = f"{gain['cases']} timed case{'s' if gain['cases'] > 1 else ''}"
        parts.append(f"{span} as fast over {cases}{f' ({counts})' if counts else ''} on {gain['gpu']}")
    return "; ".join(parts)


def chain(id: str, zoo: Path) -> dict[str, list[dict[str, Any]]]:
    """`{"improves_on": [nearest ancestor first], "improved_by": [descendants, each behind its parent]}`, each with its gains and depth."""
    known = parents(id.split("/")[1], zoo)
    above, below = [], []
    child, seen = id, {id}
    while (parent := known.get(child)) and parent not in seen:
        above.append({"id": parent, "gains": gains(child, parent, zoo), "depth": len(above) + 1})
        seen.add(parent)
        child = parent

    def descend(parent: str, depth: int) -> None:
        for child in sorted(name for name, its in known.items() if its == parent and name not in seen):
            seen.add(child)
            below.append({"id": child, "gains": gains(child, parent, zoo), "depth": depth})
            descend(child, depth + 1)

    descend(id, 1)
    return {"improves_on": above, "improved_by": below}


def lineage_text(id: str, zoo: Path) -> str:
    """Both directions as a markdown list; empty for an implementation without relatives."""
    found = chain(id, zoo)
    lines = [f"- improves on `{one['id']}`: {gain_text(one['gains'])}" for one in found["improves_on"]]
    lines += [f"{'  ' * (one['depth'] - 1)}- improved by `{one['id']}`: {gain_text(one['gains'])}" for one in found["improved_by"]]
    return "\n".join(lines)


def tree_text(operator: str, zoo: Path) -> str:
    """The implementations of `operator` as an indented tree, those without a parent at the left."""
    known, lines = parents(operator, zoo), []
    for root in (id for id, parent in known.items() if parent not in known):
        foreign = f"  (parent {known[root]} is not here)" if known[root] else ""
        lines.append(f"{root}{foreign}")
        lines += [f"{'    ' * one['depth']}{one['id']}  {gain_text(one['gains'])}" for one in chain(root, zoo)["improved_by"]]
    return "\n".join(lines)


def lineage_problems(operator: str, zoo: Path) -> list[tuple[str, str]]:
    """`(implementation name, problem)`: a parent of another operator, or a circle of parents. That a parent exists is checked as a link."""
    known, problems = parents(operator, zoo), []
    for id, parent in known.items():
        name = id.rsplit("/", 1)[1]
        if parent and not parent.startswith(f"zoo/{operator}/"):
            problems.append((name, f'parent "{parent}" is not an implementation of {operator}'))
        elif parent and _comes_back(id, known):
            problems.append((name, f'parent "{parent}" leads back to itself'))
    return problems


def _comes_back(id: str, known: dict[str, str | None]) -> bool:
    at, steps = known.get(id), 0
    while at and at != id and steps <= len(known):
        at, steps = known.get(at), steps + 1
    return at == id

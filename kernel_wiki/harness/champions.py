"""Who is fastest: the zoo's accepted, fresh records compared case by case. Imports no torch and no schema.

Records come from different runs, at different clocks. What is compared is therefore `share_of_ceiling`: each time relative to the
ceiling that the same run measured (a copy's bandwidth or the library's matrix product), so that the clocks cancel.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import discover

LEVEL = 0.01
"""Two implementations within this of each other are level even where their spreads are smaller: nobody can use less."""
DTYPE = re.compile(r"-((?:bf|fp|tf|int|uint)\d+\w*)")


@dataclass(frozen=True, slots=True)
class Lead:
    """One timed case of an operator on one GPU and the implementation that leads it."""

    operator: str
    gpu: str
    """As the driver names it."""
    case: str
    dtype: str
    champion: str
    """Id of the implementation, `zoo/...`, as in every other answer."""
    time_us: float
    """Its own measured time, in its own run."""
    margin: float | None
    """How much faster than the runner-up, relative to each run's ceiling: 0.05 is 5 %; None without one."""
    runner_up: str | None
    level: bool
    """The two are closer than their spreads, so that neither is faster."""
    best_baseline: str | None
    """The fastest library or compiler in the champion's run."""
    speedup: float | None
    """Over that baseline."""
    verdict: str | None
    """What the record says of that speed-up: faster, slower or level; None in a record that gives no interval."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An implementation whose record on a GPU could not be compared."""

    id: str
    gpu: str | None
    """Folder of the record; None when there is none."""
    reason: str


def records(operator: str, zoo: Path = discover.ZOO) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """`(implementation, GPU folder, record)` of every accepted record with times that belongs to the sources as they are."""
    for name, slug, reason, record in _judged(operator, zoo):
        if not reason:
            yield name, slug, record


def left_out(operator: str, zoo: Path = discover.ZOO) -> list[LeftOut]:
    """What `records` passes over, and the implementations that have no record at all."""
    found = list(_judged(operator, zoo))
    named = {name for name, *_ in found}
    without = [LeftOut(f"zoo/{e.id}", None, "no record") for e in discover.implementations(operator, zoo) if e.name not in named]
    return [LeftOut(f"zoo/{operator}/{name}", slug, reason) for name, slug, reason, _ in found if reason] + without


def leads(operator: str, zoo: Path = discover.ZOO) -> list[Lead]:
    """The leader of each timed case on each GPU, by GPU, then case."""
    cases: dict[tuple[str, str], list[tuple[str, dict[str, Any], str]]] = {}
    for name, slug, record in records(operator, zoo):
        for timing in record["timings"]:
            cases.setdefault((slug, timing["case"]), []).append((name, timing, record["gpu"]["name"]))
    return [_lead(operator, gpu_case[1], rivals) for gpu_case, rivals in sorted(cases.items())]


def champion(operator: str, gpu_slug: str, zoo: Path = discover.ZOO) -> str | None:
    """The implementation that leads most timed cases on that GPU; between equals the greater geometric mean of `share_of_ceiling`.

    Args:
        gpu_slug: folder of the GPU's records, such as `nvidia-h200`.

    Returns:
        Its name, or None when no accepted, fresh record with times is there.
    """
    timings = {name: record["timings"] for name, slug, record in records(operator, zoo) if slug == gpu_slug}
    best: dict[str, tuple[float, str]] = {}
    for name, timed in sorted(timings.items()):
        for timing in timed:
            best[timing["case"]] = max(best.get(timing["case"], (0.0, "")), (timing["share_of_ceiling"], name), key=lambda pair: pair[0])
    won = [name for _, name in best.values()]
    ranked = sorted(timings, key=lambda name: (-won.count(name), -_geometric_mean(timings[name]), name))
    return ranked[0] if ranked else None


def _judged(operator: str, zoo: Path) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """`(implementation, GPU folder, why it does not count or "", record)` in order."""
    for entry in discover.implementations(operator, zoo):
        now = discover.source_hashes(operator, entry.name, zoo)
        for path in sorted((zoo / operator / "validation").glob(f"*/{entry.name}.json")):
            if path.parent.name == discover.COMPILE_FOLDER:
                continue
            record = json.loads(path.read_text(encoding="utf-8"))
            yield entry.name, path.parent.name, _objection(record, now), record


def _objection(record: dict[str, Any], hashes: dict[str, str]) -> str:
    if record.get("hashes") != hashes:
        return "stale: its sources changed since"
    if record["verdict"] != "accepted":
        return f"rejected: {record.get('hint') or 'no reason given'}"
    return "" if any(timing.get("share_of_ceiling") for timing in record["timings"]) else "accepted, not timed"


def _lead(operator: str, case: str, rivals: list[tuple[str, dict[str, Any], str]]) -> Lead:
    ranked = sorted(rivals, key=lambda rival: (-rival[1]["share_of_ceiling"], rival[0]))
    (name, first, gpu), second = ranked[0], ranked[1] if len(ranked) > 1 else None
    margin = first["share_of_ceiling"] / second[1]["share_of_ceiling"] - 1 if second else None
    noise = max(LEVEL, first["spread"] + second[1]["spread"]) if second else 0.0
    baseline, speed = best_baseline(first)
    return Lead(
        operator=operator,
        gpu=gpu,
        case=case,
        dtype=found[1] if (found := DTYPE.search(case)) else "",
        champion=f"zoo/{operator}/{name}",
        time_us=first["time_us"],
        margin=round(margin, 4) if margin is not None else None,
        runner_up=f"zoo/{operator}/{second[0]}" if second else None,
        level=margin is not None and margin <= noise,
        best_baseline=baseline,
        speedup=speed.get("speedup"),
        verdict=speed.get("verdict"),
    )


def best_baseline(timing: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The fastest baseline that is not itself of the zoo, with what was measured of it; `(None, {})` when none ran."""
    timed = {name: found for name, found in timing["baselines"].items() if found.get("time_us") and not name.startswith("zoo/")}
    name = min(timed, key=lambda name: (timed[name]["time_us"], name), default=None)
    return name, timed.get(name, {})


def _geometric_mean(timings: list[dict[str, Any]]) -> float:
    return math.exp(sum(math.log(max(timing["share_of_ceiling"], 1e-9)) for timing in timings) / len(timings))

"""A launch while it is being read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from retriever.reports.body_labels import EACH, MISPRINTED, ROLLUPS
from retriever.reports.kernel_names import kernel_name
from retriever.reports.names import names_for, sections_shown
from retriever.reports.profile import Metric, Profile, RuleMessage
from retriever.reports.rule_sentences import metrics_in_sentences
from retriever.reports.units import NumberStyle, base_unit, is_missing, scaled

MAX_NOTES = 40  # a guess: more lines of complaint than anyone reads

Dimensions = tuple[int, int, int]

SEVERITIES = {"OK": "INF", "INFO": "INF", "OPTIMIZATION": "OPT", "WARNING": "WRN", "ERROR": "ERR"}
"""Tags that other versions use for the four that remain; `OK` was 2020's word for a remark."""

_NOT_FOUND = re.compile(r"[Mm]etric \"?([a-z][a-z0-9]*__[\w.]*\w)\"? (?:was )?not found")
_TRIPLE = re.compile(r"\(?\s*(\d{1,10})\s*,\s*(\d{1,10})\s*,\s*(\d{1,10})\s*\)?")


def triple(cell: str) -> Dimensions | None:
    """`(256, 1, 1)` as numbers; None for anything else."""
    match = _TRIPLE.fullmatch(cell.strip())
    return extents(int(match[1]), int(match[2]), int(match[3])) if match else None


def extents(x: int, y: int, z: int) -> Dimensions | None:
    """A grid or block; None for `(0, 0, 0)`, which stands where a launch failed or where there was none, as for a range."""
    return (x, y, z) if x and y and z else None


WORKLOADS = ("kernel", "range", "graph", "cmdlist")
"""What the profiler can measure as one."""


def workload_kind(word: str, name: str) -> str:
    """One of WORKLOADS, from the word in a column for it, else from the name.

    Assumed, no such report was seen: a range or a graph is named by its kind, with or without a number, and has no argument list.
    """
    words = (word or name.partition("(")[0]).lower().split()
    return next((kind for kind in WORKLOADS if words[:1] == [kind] and (word or len(words) <= 2)), "kernel")


def dimensions(metrics: Mapping[str, Metric], prefix: str) -> Dimensions | None:
    """Extents from `<prefix>_x`, `_y` and `_z` (`launch__grid_dim`), if the report has all three."""
    found = [metrics.get(f"{prefix}_{axis}") for axis in "xyz"]
    if not all(found):
        return None
    return extents(*(int(metric.value) for metric in found if metric))


def capability(metrics: Mapping[str, Metric]) -> str | None:
    """`9.0` from the device attributes, if the report has them."""
    found = [metrics.get(f"device__attribute_compute_capability_{part}") for part in ("major", "minor")]
    return ".".join(str(int(metric.value)) for metric in found if metric) if all(found) else None


def _in_order(*values: float) -> bool:
    return all(lower <= upper for lower, upper in pairwise(values))


@dataclass(slots=True)
class Notes:
    """What is worth telling about the reading, capped."""

    lines: list[str] = field(default_factory=list)
    dropped: int = 0

    def add(self, line: int, text: str) -> None:
        if len(self.lines) < MAX_NOTES:
            self.lines.append(f"line {line}: {text}")
        else:
            self.dropped += 1

    def finish(self) -> tuple[str, ...]:
        """The notes, and how many were left out."""
        more = (f"{self.dropped} more notes left out",) if self.dropped else ()
        return (*self.lines, *more)


@dataclass(slots=True)
class Draft:
    """One launch's parts as they come; `finish` makes the Profile."""

    signature: str
    location: str
    grid: Dimensions | None = None
    block: Dimensions | None = None
    device: str | None = None
    compute_capability: str | None = None
    launch_id: str = ""
    invocations: int = 1
    metrics: dict[str, Metric] = field(default_factory=dict)
    unavailable: dict[str, None] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    rules: list[RuleMessage] = field(default_factory=list)
    sections: dict[str, None] = field(default_factory=dict)
    rollups: dict[str, list[Metric]] = field(default_factory=dict)
    """By quantity, where a table has a row for each rollup under one label."""
    workload: str = "kernel"
    process_id: str = ""
    gpu_index: str = ""

    def add(self, name: str, cell: str, unit: str, location: str, style: NumberStyle) -> None:
        """Keeps one row's value in base units; the first row of a metric stands."""
        base, factor = base_unit(unit)
        value = style.number(cell, base)
        base = MISPRINTED.get(name, base)
        if value is not None and name.endswith(EACH):
            self.rollups.setdefault(name.removesuffix(EACH), []).append(Metric(scaled(value, factor), base, location))
        elif value is not None:
            self.metrics.setdefault(name, Metric(scaled(value, factor), base, location))
        elif is_missing(cell):
            self.unavailable.setdefault(name)
        else:
            self.attributes.setdefault(name, cell)

    def _add_rollups(self) -> None:
        """Keeps the rollups of each quantity whose rows are all there: without one, the others cannot be told apart."""
        for quantity, found in self.rollups.items():
            named = dict(zip(ROLLUPS, found))
            if len(found) != len(ROLLUPS) or not _in_order(*(named[rollup].value for rollup in ("min", "avg", "max", "sum"))):
                continue
            for rollup, metric in named.items():
                self.metrics.setdefault(f"{quantity}.{rollup}", metric)

    def add_rule(self, rule: RuleMessage) -> None:
        """Keeps a rule's message; one that failed for want of a metric names that metric as unavailable."""
        self.rules.append(rule)
        absent = _NOT_FOUND.search(rule.text) if rule.severity == "ERR" else None
        if absent:
            self.unavailable.setdefault(absent[1])

    def add_stated(self, style: NumberStyle) -> None:
        """Keeps the metrics that only the sentences of the rules state."""
        for name, (value, unit, location) in metrics_in_sentences(self.rules, style).items():
            self.metrics.setdefault(name, Metric(value, unit, location))

    def finish(self) -> Profile:
        """The launch as a frozen Profile."""
        self._add_rollups()
        metrics = dict(self.metrics)
        for name, metric in self.metrics.items():
            for other in names_for(name, self.metrics)[1:]:
                metrics.setdefault(other, metric)
        unavailable = dict.fromkeys(name for old in self.unavailable for name in names_for(old, self.unavailable))
        name = kernel_name(self.signature)
        return Profile(
            kernel=name,
            signature=self.signature if name != self.signature else "",
            grid=self.grid or dimensions(metrics, "launch__grid_dim"),
            block=self.block or dimensions(metrics, "launch__block_dim"),
            device=self.device or self.attributes.get("device__attribute_display_name"),
            compute_capability=self.compute_capability or capability(metrics),
            metrics=metrics,
            unavailable=tuple(name for name in unavailable if name not in metrics),
            rules=tuple(self.rules),
            sections=tuple(self.sections) or sections_shown(metrics),
            attributes=self.attributes,
            launch_id=self.launch_id,
            invocations=self.invocations,
            location=self.location,
            workload=self.workload,
            process_id=self.process_id,
            gpu_index=self.gpu_index,
        )

"""Heads of the tables of `nsys stats`, by their column names of 2020 to 2026, and how the rows under one are cut into cells."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from retriever.reports.csv_rows import delimiter_of
from retriever.reports.units import NumberStyle, base_unit, number_style

Cutter = Callable[[str], list[str]]
"""A line to its cells."""

_GAP = re.compile(r"\s{2,}")
_QUOTE = re.compile(r"(?:> ?)+")
_COLUMN = re.compile(r"(?:Total Time|Num Calls|Kernel Name|API Name|NVTX Range|[A-Za-z]+)(?: ?\([%\w]+\))?")
_BAR = re.compile(r"(?<!\\)\|")
_ESCAPED = re.compile(r"\\([\\*_|<>\[\]])")
_RULE = re.compile(r"[\s|+]*[-=:]{3,}[\s|+=:-]*")
_UNIT = re.compile(r"\s*[(:](?:ts_|dur_|mem_)?(%|nsec|usec|msec|sec|ns|us|ms|s|[kKMG]?i?B|bytes)\)?$")
_FIRST = tuple(f"{quote}{name}" for quote in ("", '"') for name in ("Time", "Start", "PID", "Count"))
_NOT_KERNELS = {"Operation", "Range", "Style", "Num Calls", "NVTX Range", "Count"}
"""Columns of the other summaries, which have the same times."""
SHAPE = ("GridXYZ", "BlockXYZ")
"""Columns with three numbers each, spaces between them."""

FEWEST_COLUMNS = 4  # of any head; a line with fewer gaps lost its second spaces
BINARY_BYTES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
"""Units that Nsight Compute never prints."""
AS_WRITTEN = number_style(())
"""A point for decimals, as nsys writes."""


@dataclass(frozen=True, slots=True)
class Table:
    """A header that was recognised."""

    kind: str
    """`sum`, `shapes` (a sum by grid and block), `mixed` (kernels and memory operations), `exec`, `trace` or `copies`."""
    columns: dict[str, int]
    """Name without its unit to place."""
    units: dict[str, str]
    cells: Cutter
    style: NumberStyle = AS_WRITTEN

    def text(self, row: list[str], name: str) -> str:
        """A cell, empty where the table or the row lacks it."""
        place = self.columns.get(name)
        return row[place].strip() if place is not None and place < len(row) else ""

    def number(self, row: list[str], *names: str) -> float | None:
        """The first of `names` that the row has, in ns or bytes."""
        for name in names:
            cell, unit = self.text(row, name), self.units.get(name, "")
            if cell[:1].isdigit():
                value = self.style.number(cell, unit)
                return value if value is None else value * (BINARY_BYTES.get(unit) or base_unit(unit)[1])
        return None

    def share(self, row: list[str]) -> float | None:
        """The table's own share of the time, in per cent."""
        return self.number(row, "Time") if self.units.get("Time") == "%" else None

    def cut(self, line: str, spans: list[tuple[int, int]]) -> list[str]:
        """A row; by the dashes under the head where cells may be empty: the last, a name, may be longer than its dashes."""
        if self.kind not in ("trace", "exec") or len(spans) != len(self.columns):
            return self.cells(line)
        return [line[start : end if place < len(spans) - 1 else None] for place, (start, end) in enumerate(spans)]


def head_of(line: str) -> Table | None:
    """The table whose head this line is; None for any other line."""
    line = _inside(unquoted(line))
    if not line.startswith(_FIRST):
        return None
    if _BAR.search(line):
        width = len(_BAR.split(line))
        return _table(_cells_of(line, width), lambda text: _cells_of(_inside(text), width))
    delimiter = delimiter_of(line)
    if delimiter in line:
        width = len(_split(line, delimiter))
        return _table(_split(line, delimiter), lambda text: rejoined(_split(text.strip(), delimiter), width, delimiter))
    names = _GAP.split(line)
    return _text_table(names) or (_text_table(_COLUMN.findall(line)) if len(names) < FEWEST_COLUMNS else None)


def _text_table(names: list[str]) -> Table | None:
    return _table(names, lambda text: _text_cells(_inside(text), names))


def unquoted(line: str) -> str:
    """A line without the signs of a quotation before it."""
    return _QUOTE.sub("", line, count=1) if line.startswith(">") else line


def is_rule(line: str) -> bool:
    """Whether a line only draws: the dashes under a head, the border of a box."""
    return _RULE.fullmatch(line) is not None


def spans_of(rule: str) -> list[tuple[int, int]]:
    """Where the columns stand, by the dashes under the head; empty for the border of a box."""
    return [] if set(rule) & set("|+=:") else [match.span() for match in re.finditer(r"-+", rule)]


def _inside(line: str) -> str:
    """A row without the bars at its ends."""
    return line.strip().removeprefix("|").removesuffix("|").strip()


def _cells_of(line: str, width: int) -> list[str]:
    """Cells between bars; a name, the last, may have bars of its own, and a wiki escapes what it has signs for."""
    return [_ESCAPED.sub(r"\1", cell).strip() for cell in _BAR.split(line, width - 1)]


def _split(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter), [])


def rejoined(cells: list[str], width: int, delimiter: str) -> list[str]:
    """A row whose name, the last cell, lost its quotes and fell apart at the commas of its arguments."""
    if len(cells) <= width or not any(cells[width:]):
        return cells
    return [*cells[: width - 1], delimiter.join(cells[width - 1 :])]


def _text_cells(line: str, names: list[str]) -> list[str]:
    """Cells with two spaces or more between them, or with one: only the name, the last, has spaces of its own, and a shape has two."""
    plain = [_UNIT.sub("", name) for name in names]
    cells = _GAP.split(line, len(names) - 1)
    whole = len(cells) == len(names) and not any(" " in cell for cell, name in zip(cells, plain) if name == "Category")
    if whole and not set(SHAPE) & set(plain):
        return cells
    widths = [3 if name in SHAPE else 1 for name in plain[:-1]]
    words = re.split("[ \t]+", line, maxsplit=sum(widths))
    if len(words) != sum(widths) + 1:
        return cells
    places = [sum(widths[:at]) for at in range(len(widths) + 1)]
    return [*(" ".join(words[start:end]) for start, end in pairwise(places)), words[-1]]


def _table(names: list[str], cells: Cutter) -> Table | None:
    names = [name.strip() for name in names]
    units = {_UNIT.sub("", name): (match[1] if (match := _UNIT.search(name)) else "ns") for name in names if name}
    columns = {_UNIT.sub("", name): place for place, name in enumerate(names) if name}
    kind = _kind(set(columns))
    return Table(kind, columns, units, cells) if kind else None


def _kind(columns: set[str]) -> str:
    """What a table tells, by its columns; empty for one without kernels and copies."""
    if {"Total Time", "Instances", "Category", "Operation"} <= columns:
        return "mixed"
    if {"Count", "KAvg", "Kernel Name"} <= columns:
        return "exec"
    if "Total Time" in columns and ({"Operations", "Name"} <= columns or ("Operation" in columns and not {"Instances", "Name"} & columns)):
        return "copies"
    if "Name" not in columns or _NOT_KERNELS & columns:
        return ""
    if {"Total Time", "Instances"} <= columns:
        return "shapes" if set(SHAPE) <= columns else "sum"
    return "trace" if {"Start", "Duration", "GrdX", "BlkX"} <= columns else ""

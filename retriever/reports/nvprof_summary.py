"""The summary of nvprof, as text and as CSV: times, calls and transfers of what ran on the GPU. Its tables of metrics are not read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from indexer.errors import InputError
from retriever.reports.csv_rows import delimiter_of, split
from retriever.reports.launch_times import Total, profiles_of
from retriever.reports.nsys_heads import rejoined, unquoted
from retriever.reports.profile import ProfilesAndNotes
from retriever.reports.source import TextSource
from retriever.reports.table_notes import mixed_note, unread_note
from retriever.reports.units import SECONDS_IN_NS, NumberStyle, number_style

FORM_NAME = "nvprof, GPU activities"
ON_GPU, HOST = "GPU activities", "API calls"
"""What the column Type says of kernels and copies, and of the host's calls, since CUDA 9; earlier the latter had a table of their own."""
COLUMNS = ["Time(%)", "Time", "Calls", "Avg", "Min", "Max", "Name"]
STYLE_ROWS = 1000  # a guess, as for nsys
NO_SHAPE = "the summary of nvprof has neither grid nor registers; --grid, --block and --ptxas add them"

_TEXT_HEAD = re.compile(r"\s*(?:Type\s+)?" + r"\s+".join(map(re.escape, COLUMNS)) + r"\s*")
_TIME = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(ns|us|ms|s)"
_TEXT_ROW = re.compile(rf"\s*(?:([A-Z][\w ()]*):)?\s*(\d+(?:\.\d+)?)%\s+{_TIME}\s+(\d+)\s+{_TIME}\s+{_TIME}\s+{_TIME}\s+(\S.*?)\s*")
_LIKE_A_ROW = re.compile(r"\s*(?:([A-Z][\w ()]*):)?\s*\d+(?:\.\d+)?%\s")
_HOST_CALL = re.compile(r"cu(?:da)?[A-Z]\w*")
"""A name of the host's API, by which its table is told where the line above it was not pasted."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A row."""

    line: int
    kind: str = ""
    """The column Type, empty where it stands in a row above."""
    name: str = ""
    share_pct: float = 0.0
    total_ns: float = 0.0
    calls: int = 0
    mean_ns: float = 0.0
    read: bool = True
    """False where the numbers could not be read."""


def begins(line: str) -> bool:
    """Whether the line is the head of a summary of nvprof."""
    return (
        "Time(%)" in line
        and "Calls" in line
        and (_TEXT_HEAD.fullmatch(unquoted(line)) is not None or _csv_names(unquoted(line)) is not None)
    )


def read_nvprof(source: TextSource, first: int) -> ProfilesAndNotes:
    """One profile for each kernel of the summary, with what copies and fills take.

    Raises:
        InputError: a CSV without its row of units, or no kernel among the rows.
    """
    cells = (cell for _, line in islice(source.lines(first), STYLE_ROWS) for cell in split(line, delimiter_of(line))[1:-1])
    style = number_style(cells)
    kernels: list[Total] = []
    copies: dict[str, float] = {}
    beside_pct = 0.0
    unread: list[int] = []
    for row in _rows(source, first, style):
        if not row.read:
            unread.append(row.line)
        elif row.name.startswith("["):
            copies[row.name] = copies.get(row.name, 0.0) + row.total_ns
            beside_pct += row.share_pct
        else:
            kernels.append(Total(row.name, row.calls, row.total_ns, row.mean_ns, f"{row.line}:1", share_pct=row.share_pct))
    if not kernels:
        also = "".join(f" ({note})" for note in unread_note(unread))
        raise InputError(f"{source.name}:{first}: a summary of nvprof without a row of a kernel{also}; give its part {ON_GPU}")
    profiles, notes = profiles_of(kernels, FORM_NAME, copies, beside_pct)
    styled = () if style.decimal == "." else (style.note,)
    return profiles, (*notes, *mixed_note(profiles), *styled, NO_SHAPE, *unread_note(unread))


def _rows(source: TextSource, first: int, style: NumberStyle) -> Iterator[_Row]:
    """The rows on the GPU of every summary in the text, one for each process."""
    names: list[str] | None = None
    units: list[str] = []
    kind, in_table, typed, delimiter = "", False, False, ","
    for number, quoted in source.lines(first):
        line = unquoted(quoted)
        if begins(line):
            in_table, typed, names, units, delimiter = True, "Type" in line, _csv_names(line), [], delimiter_of(line)
            kind = HOST if kind == HOST and not typed else ON_GPU
        elif line.startswith("="):
            in_table, kind = False, HOST if HOST in line else ""
        elif not in_table or not line.strip():
            in_table = in_table and names is None
        elif names and not units:
            units = _units(source, number, split(line, delimiter), names)
        else:
            cells = rejoined(split(line, delimiter), len(names), delimiter) if names else []
            row = _csv_row(number, cells, names, units, style) if names else _text_row(number, line)
            kind = (row and row.kind) or kind
            if row and kind == ON_GPU and (typed or not _HOST_CALL.fullmatch(row.name)):
                yield row


def _csv_names(line: str) -> list[str] | None:
    """The columns of the head of a CSV; None for any other line."""
    names = split(line, delimiter_of(line))
    return names if names in (COLUMNS, ["Type", *COLUMNS]) else None


def _units(source: TextSource, line: int, cells: list[str], names: list[str]) -> list[str]:
    """The row of units under the head.

    Raises:
        InputError: another row stands there, so that no time can be told.
    """
    units = dict(zip(names, cells))
    if all(units.get(name) in SECONDS_IN_NS for name in ("Time", "Avg")):
        return cells
    raise InputError(
        f"{source.name}:{line}: a CSV of nvprof without the row of units under its header, so its times cannot be told; "
        "give the whole output (the row looks like ,%,ms,,us,us,us,)"
    )


def _csv_row(line: int, cells: list[str], names: list[str], units: list[str], style: NumberStyle) -> _Row:
    cell, unit = dict(zip(names, cells)), dict(zip(names, units))
    kind, name = cell.get("Type", ""), cell.get("Name", "")
    share, total, calls, mean = (style.number(cell.get(column, ""), unit[column]) for column in ("Time(%)", "Time", "Calls", "Avg"))
    if share is None or total is None or not calls or mean is None or not name:
        return _Row(line, kind, name, read=False)
    return _Row(line, kind, name, share, total * SECONDS_IN_NS[unit["Time"]], int(calls), mean * SECONDS_IN_NS[unit["Avg"]])


def _text_row(line: int, text: str) -> _Row | None:
    """None for a line that does not look like a row: the rest of a name that was wrapped, prose."""
    like, match = _LIKE_A_ROW.match(text), _TEXT_ROW.fullmatch(text.rstrip("\n"))
    if not like:
        return None
    if not match or not int(match[5]):
        return _Row(line, like[1] or "", read=False)
    total, mean = float(match[3]) * SECONDS_IN_NS[match[4]], float(match[6]) * SECONDS_IN_NS[match[7]]
    return _Row(line, match[1] or "", match[12], float(match[2]), total, int(match[5]), mean)

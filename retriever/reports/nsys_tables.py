"""Tables of `nsys stats`: the summaries of kernels and of copies and the GPU trace, as CSV or text, by the column names of 2020 to 2026.

A spreadsheet of another locale writes that CSV with semicolons and decimal commas; such a file is read as well.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from indexer.errors import InputError
from retriever.reports.csv_rows import delimiter_of
from retriever.reports.launch_times import Launch, Total, copies_of, profiles_of, totals
from retriever.reports.profile import ProfilesAndNotes
from retriever.reports.source import TextSource
from retriever.reports.units import NumberStyle, base_unit, number_style

FORM_NAME = "nsys stats"
_GAP = re.compile(r"\s{2,}")
_UNIT = re.compile(r"\s*[(:](?:ts_|dur_|mem_)?(%|nsec|usec|msec|sec|ns|us|ms|s|[kKMG]?i?B|bytes)\)?$")
_NOT_KERNELS = {"Operation", "Range", "Style", "Num Calls", "NVTX Range", "Count"}
"""Columns of the other summaries, which have the same times."""
_NO_KERNEL = re.compile(r"^\[?CUDA mem|^\[?CUDA memset|^Mem(?:cpy|set)")

STYLE_ROWS = 1000  # a guess: rows read for the number style; a summary's first row shows it by its share of time
BINARY_BYTES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
"""Units that Nsight Compute never prints."""
MEGABYTES = ("MB", "MiB")
"""Units of shared memory in which three decimals leave 500 bytes open."""
AS_WRITTEN = number_style(())
"""A point for decimals, as nsys writes."""


@dataclass(frozen=True, slots=True)
class _Table:
    """A header that was recognised."""

    kind: str
    """`sum`, `trace` or `copies`."""
    columns: dict[str, int]
    """Name without its unit to place."""
    units: dict[str, str]
    cells: Callable[[str], list[str]]
    """Cuts one line."""
    style: NumberStyle = AS_WRITTEN

    def text(self, row: list[str], name: str) -> str:
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


def begins(line: str) -> bool:
    """Whether the line is the head of a table of kernels."""
    return (head := _head(line)) is not None and head.kind != "copies"


def _head(line: str) -> _Table | None:
    line = line.strip().strip("|").strip()
    if not line.startswith(("Time", '"Time', "Start", '"Start')):
        return None
    delimiter = delimiter_of(line)
    if delimiter in line:
        return _table(_split(line, delimiter), lambda text: _split(text.strip(), delimiter))
    names = _GAP.split(line)
    return _table(names, lambda text: _GAP.split(text.strip().strip("|").strip(), len(names) - 1))


def _split(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter), [])


def _table(names: list[str], cells: Callable[[str], list[str]]) -> _Table | None:
    units = {_UNIT.sub("", name.strip()): (match[1] if (match := _UNIT.search(name.strip())) else "ns") for name in names if name.strip()}
    columns = {_UNIT.sub("", name.strip()): place for place, name in enumerate(names) if name.strip()}
    if {"Total Time", "Operation"} <= columns.keys() and not {"Instances", "Name"} & columns.keys():
        return _Table("copies", columns, units, cells)
    if "Name" not in columns or _NOT_KERNELS & columns.keys():
        return None
    if {"Total Time", "Instances"} <= columns.keys():
        return _Table("sum", columns, units, cells)
    return _Table("trace", columns, units, cells) if {"Start", "Duration", "GrdX", "BlkX"} <= columns.keys() else None


def read_nsys(source: TextSource, first: int) -> ProfilesAndNotes:
    """Profiles of the trace where the file has it, else of the summary.

    Raises:
        InputError: neither has a row of a kernel.
    """
    launches: list[Launch] = []
    summed: list[Total] = []
    copies: dict[str, float] = {}
    coarse = False
    style = number_style(cell for _, _, row in islice(_rows(source, first), STYLE_ROWS) for cell in row)
    for number, table, row in _rows(source, first, style):
        if table.kind == "trace":
            launch = _launch(table, row, number)
            launches += [launch] if launch else []
            coarse = coarse or bool(launch and launch.is_kernel and _coarse(table, launch))
        elif table.kind == "copies":
            if name := table.text(row, "Operation"):
                copies[name] = copies.get(name, 0.0) + (table.number(row, "Total Time") or 0.0)
        elif total := _total(table, row, number):
            summed.append(total)
    found = totals(launches) or summed
    if not found:
        raise InputError(f"{source.name}:{first}: a table of nsys without a row of a kernel; trace a program that launches one")
    form = f"{FORM_NAME}, {'GPU trace' if launches else 'kernel summary'}"
    profiles, notes = profiles_of(found, form, copies_of(launches) or copies)
    if style.decimal != AS_WRITTEN.decimal:
        notes += (style.note,)
    if coarse:
        notes += ("shared memory is printed in MB with three decimals, so the block limit by it is approximate",)
    if not launches:
        notes += ("a summary has neither grid nor registers; nsys stats --report cuda_gpu_trace --format csv has both",)
    return profiles, notes


def _rows(source: TextSource, first: int, style: NumberStyle = AS_WRITTEN) -> Iterator[tuple[int, _Table, list[str]]]:
    """The rows of every table in the file that is read here."""
    table: _Table | None = None
    spans: list[tuple[int, int]] = []
    for number, line in source.lines(first):
        if head := _head(line):
            table, spans = replace(head, style=style), []
        elif not line.strip():
            table = None if spans else table  # a CSV may have blank lines, a text table ends with one
        elif table and re.fullmatch(r"[\s|-]*-{3,}[\s|-]*", line):
            spans = [match.span() for match in re.finditer(r"-+", line)]
        elif table and line.lstrip().startswith(("**", "[", "Processing ", "NOTICE")):
            table = None
        elif table:
            row = _cut(line.rstrip("\n"), spans) if table.kind == "trace" and len(spans) == len(table.columns) else table.cells(line)
            yield number, table, row


def _cut(line: str, spans: list[tuple[int, int]]) -> list[str]:
    """A row of text by the dashes under the head: cells may be empty; the last, a name, may be longer."""
    return [line[start : end if place < len(spans) - 1 else None] for place, (start, end) in enumerate(spans)]


def _total(table: _Table, row: list[str], line: int) -> Total | None:
    count, whole = table.number(row, "Instances"), table.number(row, "Total Time")
    name = table.text(row, "Name")
    if not name or not count or whole is None or _NO_KERNEL.match(name):
        return None
    middle = table.number(row, "Med", "Median", "Avg", "Average") or whole / count
    share = table.number(row, "Time") if table.units.get("Time") == "%" else None
    return Total(name, int(count), whole, middle, f"{line}:1", example=_shape(table, row, name, line), share_pct=share)


def _shape(table: _Table, row: list[str], name: str, line: int) -> Launch | None:
    """Grid and block of the summary that has them."""
    grid, block = (re.findall(r"\d+", table.text(row, column)) for column in ("GridXYZ", "BlockXYZ"))
    if len(grid) != 3 or len(block) != 3:
        return None
    return Launch(name, 0.0, 0.0, f"{line}:1", grid=tuple(map(int, grid)), block=tuple(map(int, block)))  # type: ignore[arg-type]


def _launch(table: _Table, row: list[str], line: int) -> Launch | None:
    start, duration, name = table.number(row, "Start"), table.number(row, "Duration"), table.text(row, "Name")
    if start is None or duration is None or not name:
        return None
    sides = [table.number(row, f"{what}{axis}") for what in ("Grd", "Blk") for axis in "XYZ"]
    whole = [int(side) for side in sides if side is not None]
    grid, block = (tuple(whole[:3]), tuple(whole[3:])) if len(whole) == 6 else (None, None)
    device = re.sub(r"\s*\(\d+\)$", "", table.text(row, "Device"))
    return Launch(
        name=name,
        start_ns=start,
        duration_ns=duration,
        location=f"{line}:1",
        is_kernel=not _NO_KERNEL.match(name),
        grid=grid,  # type: ignore[arg-type]
        block=block,  # type: ignore[arg-type]
        registers=table.number(row, "Reg/Trd"),
        static_bytes=table.number(row, "StcSMem"),
        dynamic_bytes=table.number(row, "DymSMem"),
        gpu=table.text(row, "Device"),
        device=device or None,
    )


def _coarse(table: _Table, launch: Launch) -> bool:
    return table.units.get("StcSMem") in MEGABYTES and bool(launch.static_bytes or launch.dynamic_bytes)

"""Rows of a CSV page inside whatever else its file holds."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

from retriever.reports.mend import without_prefix
from retriever.reports.names import is_section
from retriever.reports.source import TextSource

csv.field_size_limit(2**24)  # kernel names of template libraries pass the default of 131072 characters
MAX_JOINED_LINES = 40  # a guess: a rule's text over more lines than this is a stray quote instead

NAME_COLUMNS = ("Kernel Name", "Workload Name", "Range Name", "Graph Name", "Name")
"""The column with the name of what was profiled. Only the first was seen in files; the tool says workload where it means more than
kernels, and a summary may name no kernel at all."""

HEADER_STARTS = ("ID", "Process ID", "Process Name", "Host Name", "Device", "Section Name", "Invocations", *NAME_COLUMNS, "")
"""First cells that a header can have; empty where a table library wrote its row numbers. A summary lacks some identity columns."""

VALUE_COLUMNS = ("Metric Value", "Average")
"""Where a row of the details page has its value; the second with `--print-summary`."""

SOURCE_TITLES = ("Kernel Name", "Function Name", "File Path", "File Name")
"""What a two-cell row above a block of the source page names."""

SOURCE_STARTS = ("Address", "#", "Line No", "Line", "Source")
"""First columns that a block of the source page can have."""

_SOURCE_COLUMN = re.compile("# Samples|Warp Stall Sampling|Sampling Data|stall_|Instructions Executed|Address$")
_STARTS = "|".join(sorted({*HEADER_STARTS, *SOURCE_TITLES, *SOURCE_STARTS} - {""}))
_HEADER_START = re.compile(rf"\ufeff?\s*(?:\"?(?:{_STARTS})\"?|\"\"|)[,;\t]")


IDENTITY = frozenset(
    [
        *("ID", "Process ID", "Process Name", "Host Name", *NAME_COLUMNS, "Kernel Time", "Context", "Stream"),
        *("Block Size", "Grid Size", "Device", "CC", "Invocations", "Workload Type", "NVTX"),
    ]
)
"""Columns that say which launch a row is about."""

_METRIC = re.compile(r"[a-z][a-z0-9]*__\w+(?:\.\w+)*")
"""A raw page of one metric has a header of two cells too; a kernel's name can hold `__nv_bfloat16`."""

_NVTX = re.compile(r".*\bDomain:(?:Push/Pop|Start/Stop|Start/End)_Range\b")

CURRENT_IDENTITY = (
    *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"),
)
EARLIER_IDENTITY = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream")
"""Identity columns in order, now and up to about 2022.1; the section's name stands behind them."""
SECTION_COLUMNS = (len(CURRENT_IDENTITY), len(EARLIER_IDENTITY))
WITH_BODY_ITEM = (17, 21)
"""Cells of a row of metrics and of a row of rules with `--print-details all`, which has a column more than the others: 16 and 20."""

COUNT = re.compile(r"\d{1,15}")
_CAPABILITY = re.compile(r"\d{1,3}(?:[.,]\d{1,2})?|n/a|-")


@dataclass(frozen=True, slots=True)
class Row:
    """One CSV row and what kind of page the header above it belongs to."""

    line: int
    cells: list[str]
    is_header: bool = False
    cut: bool = False
    """True for the last row of a file that ends in the middle of it; the cut cell is gone."""


class Fields:
    """The columns of a header by name; one that it lacks reads as empty."""

    def __init__(self, names: list[str]):
        self.names = names
        self._at = {name: at for at, name in reversed(list(enumerate(names)))}

    def __contains__(self, name: str) -> bool:
        return name in self._at

    def at(self, name: str) -> int:
        """The position of a column in a padded row."""
        return self._at.get(name, len(self.names))

    def at_first(self, names: tuple[str, ...]) -> int:
        """The position of the first column of `names` that the header has."""
        return next((self._at[name] for name in names if name in self._at), len(self.names))

    def shifted(self, cells: list[str]) -> str:
        """Why a row cannot be read: without quotes, the commas of numbers and arguments stand between cells. Empty for any other row; a
        comma may end it.
        """
        width, at = len(self.names), self.at("CC")
        if len(cells) > width + 1:
            return f"{len(cells)} cells under a header of {width}, so its quotes were lost and no cell can be told; skipped"
        if at < len(cells) and cells[at] and not _CAPABILITY.fullmatch(cells[at]):
            return f'"{cells[at]}" in the column CC, so its quotes were lost and no cell can be told; skipped'
        return ""

    def padded(self, cells: list[str]) -> list[str]:
        """A row as long as the header and one empty cell more, for the columns that are not there."""
        width = len(self.names)
        return [*cells[:width], *[""] * (width + 1 - min(len(cells), width))]


def is_identity(column: str) -> bool:
    """True for a column that says which launch a row is about, the ranges of `--nvtx` included."""
    return column in IDENTITY or _NVTX.match(column) is not None


def page_of(cells: list[str]) -> str | None:
    """The page a header row belongs to (`csv-raw`, `csv-details`, `csv-source`); None for any other row."""
    if source_title(cells) or _names_source_columns(cells):
        return "csv-source"
    if cells[0] not in HEADER_STARTS:
        return None
    named = any(name in cells for name in NAME_COLUMNS)
    if "Metric Name" in cells and any(map(is_identity, cells)) and (named or any(column in cells for column in VALUE_COLUMNS)):
        return "csv-details"
    if "Kernel Name" in cells[1:] or cells[:2] == ["ID", "Process ID"] or (named and any("__" in cell for cell in cells)):
        return "csv-raw"
    return None


def header_of(cells: list[str]) -> list[str] | None:
    """The header that a row of the details page stands under, told by where its section is, for pages that lost it; None for others."""
    at = next((at for at in SECTION_COLUMNS if at < len(cells) and is_section(cells[at])), None)
    if at is None or not all(COUNT.fullmatch(cell) for cell in cells[:2]):
        return None
    identity = CURRENT_IDENTITY if at == len(CURRENT_IDENTITY) else EARLIER_IDENTITY
    value = ("Metric Name", "Metric Unit", "Metric Value")
    body = ("Body Item Label",) if len(cells) in WITH_BODY_ITEM and at == len(CURRENT_IDENTITY) else ()
    rule = ("Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup")
    return [*identity, "Section Name", *body, *value, *rule]


def source_title(cells: list[str]) -> tuple[str, str] | None:
    """What a title row of the source page names and the name; None for any other row. A comma can end the row."""
    if cells[0] not in SOURCE_TITLES or len(cells) < 2 or not cells[1] or any(cells[2:]) or _METRIC.fullmatch(cells[1]):
        return None
    return cells[0], cells[1]


def _names_source_columns(cells: list[str]) -> bool:
    return cells[0] in SOURCE_STARTS and "Source" in cells and any(_SOURCE_COLUMN.match(cell) for cell in cells)


def details_cells(line: str) -> list[str] | None:
    """The header that a line lacks when it is a row of the details page, else None."""
    line = unprefixed(line)
    if line[:1] != '"' or not line[1:2].isdigit():
        return None
    return header_of(split(line, delimiter_of_row(line)))


def header_cells(line: str) -> list[str] | None:
    """The cells of a line that looks like a header of any page, else None."""
    line = unprefixed(line)
    if not _HEADER_START.match(line):
        return None
    cells = split(line, delimiter_of(line))
    return cells if cells and page_of(cells) else None


def unprefixed(line: str) -> str:
    """A quoted row without what a mail, a log or an indented block puts before it."""
    if line[:1] == '"' or '","' not in line:
        return line
    bare = without_prefix(line).lstrip(" \t")
    return bare if bare.startswith('"') else line


def delimiter_of(header: str) -> str:
    """`,` as Nsight Compute writes, or what a spreadsheet made of it: `;` or a tab."""
    return max(",;\t", key=header.count)


def delimiter_of_row(row: str) -> str:
    """The same for a row of quoted cells, whose values have commas of their own."""
    return max(",;\t", key=lambda sign: row.count(f'"{sign}"'))


def split(line: str, delimiter: str) -> list[str]:
    """The cells of one row; a quote left open takes the rest of the line. Empty for a line that cannot be a row."""
    text = line.lstrip("\ufeff").rstrip("\r\n").replace("\n", " ")
    try:
        row = next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:  # a cell past the size limit: not a row of any report
        return []
    return [cell.strip() for cell in row]


def rows(source: TextSource, first: int) -> Iterator[Row]:
    """Headers and rows from line `first` on, a header or the first row under a lost one; lines that are neither are left out."""
    delimiter = ""
    for number, line in _joined(source, first):
        cells = header_cells(line)
        if cells:
            delimiter = delimiter_of(line)
            yield Row(number, cells, is_header=True, cut=not line.endswith("\n"))
            continue
        delimiter = delimiter or delimiter_of_row(line)
        if _is_row(line, delimiter):
            cells = split(line, delimiter)
            cut = not line.endswith("\n") or line.count('"') % 2 == 1
            if cut and _ends_inside_cell(line, delimiter):
                cells = cells[:-1]
            yield Row(number, cells, cut=cut)


def _is_row(line: str, delimiter: str) -> bool:
    return line[:1] in ('"', delimiter) or (line[:1].isdigit() and delimiter in line)


def _ends_inside_cell(line: str, delimiter: str) -> bool:
    """True unless the last cell is surely whole: a quoted file closes it, an unquoted one says nothing."""
    if line.startswith('"'):
        return not line.rstrip("\r\n").endswith('"') or line.count('"') % 2 == 1
    return line.endswith(delimiter)


def _joined(source: TextSource, first: int) -> Iterator[tuple[int, str]]:
    """Lines, with a quoted cell that spans several lines put together; a quote that never closes joins nothing."""
    held: list[tuple[int, str]] = []
    for number, whole in source.lines(first):
        line = unprefixed(whole)
        opens = line.count('"') % 2 == 1
        if held and (line.startswith('"') or len(held) > MAX_JOINED_LINES):
            yield from held
            held = []
        if not held and not (opens and line.startswith('"')):
            yield number, line
            continue
        held.append((number, line))
        if len(held) > 1 and opens:
            yield held[0][0], "".join(text for _, text in held)
            held = []
    yield from held

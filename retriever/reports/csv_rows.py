"""Rows of a CSV page inside whatever else its file holds."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

from retriever.reports.source import TextSource

csv.field_size_limit(2**24)  # kernel names of template libraries pass the default of 131072 characters
MAX_JOINED_LINES = 40  # a guess: a rule's text over more lines than this is a stray quote instead

HEADER_STARTS = ("ID", "Process ID", "Kernel Name", "")
"""First cells a header can have; empty where a table library wrote its row numbers."""
_HEADER_START = re.compile(r"\ufeff?\s*(?:\"?(?:ID|Process ID|Kernel Name)\"?|\"\"|)[,;\t]")


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

    def padded(self, cells: list[str]) -> list[str]:
        """A row as long as the header and one empty cell more, for the columns that are not there."""
        width = len(self.names)
        return [*cells[:width], *[""] * (width + 1 - min(len(cells), width))]


def page_of(cells: list[str]) -> str | None:
    """The page a header row belongs to (`csv-raw`, `csv-details`, `csv-source`); None for any other row."""
    if cells[0] not in HEADER_STARTS:
        return None
    if "Metric Name" in cells and "Kernel Name" in cells:
        return "csv-details"
    if cells[0] == "Kernel Name" and len(cells) == 2:
        return "csv-source"
    if "Kernel Name" in cells[1:] or cells[:2] == ["ID", "Process ID"]:
        return "csv-raw"
    return None


def header_cells(line: str) -> list[str] | None:
    """The cells of a line that looks like a header of any page, else None."""
    if not _HEADER_START.match(line):
        return None
    cells = split(line, delimiter_of(line))
    return cells if cells and page_of(cells) else None


def delimiter_of(header: str) -> str:
    """`,` as Nsight Compute writes, or what a spreadsheet made of it: `;` or a tab."""
    return max(",;\t", key=header.count)


def split(line: str, delimiter: str) -> list[str]:
    """The cells of one row; a quote left open takes the rest of the line. Empty for a line that cannot be a row."""
    text = line.lstrip("\ufeff").rstrip("\r\n").replace("\n", " ")
    try:
        row = next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:  # a cell past the size limit: not a row of any report
        return []
    return [cell.strip() for cell in row]


def rows(source: TextSource, first: int) -> Iterator[Row]:
    """Headers and rows from line `first` on, which is a header; lines that are neither are left out."""
    delimiter = ","
    for number, line in _joined(source, first):
        cells = header_cells(line)
        if cells:
            delimiter = delimiter_of(line)
            yield Row(number, cells, is_header=True, cut=not line.endswith("\n"))
        elif _is_row(line, delimiter):
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
    for number, line in source.lines(first):
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

"""Tables as ncu frames them: dashes, a header, dashes, and rows whose cells end where the dashes end.

A row that stands exactly so can be cut at the columns, whatever its label. It takes a tenth of the time of reading it by words, and a
report of 100 MB has a million of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from retriever.reports.console_events import TableRow

GROUPS = {3: 2, 5: 4}
"""Columns of a table to the one that counts: the value, and the average of minimum, maximum and average."""

_UNMARKED = r"""[ !"#$%'()*+,\-./0-9:;=?@A-Z\[\]^_a-z{}~]"""
"""Every sign but those by which a copy can have changed a line: no tab, bar, backslash, ampersand, angle bracket or backtick."""
_MARKED_NUMBER = re.compile(r"\(!\)\s*(?=[\d+-])")


@dataclass(frozen=True, slots=True)
class Frame:
    """The columns of a table."""

    spans: tuple[tuple[int, int], ...]
    """Begin and end of each group of dashes."""
    shape: re.Pattern[str]
    """Of a row: label, unit and the value that counts."""

    def row(self, number: int, line: str) -> TableRow | None:
        """The row of a line with its newline; None for a line that is not shaped exactly like a row."""
        match = self.shape.fullmatch(line)
        if not match:
            return None
        label, unit, value = match.groups()
        cell = value.strip()
        if cell and value[-1] == " ":
            return None
        column = match.end(3) - len(cell) + 1
        if cell.startswith("(!)"):
            cell = _MARKED_NUMBER.sub("", cell)
        return TableRow(number, column, label.rstrip(), unit.strip(), cell, framed=True)

    def filled(self, row: TableRow) -> bool:
        """Whether a value takes the whole width of its column, so that more of it may stand below."""
        at, stop = self.spans[-1]
        return len(row.cell) >= stop - at

    def continues(self, line: str) -> str | None:
        """What a line adds to the value of the row above, where it is empty before its last column; None where it does not."""
        at, stop = self.spans[-1]
        if len(self.spans) != 3 or len(line) != stop + 1 or not line[:at].isspace() or line[stop - 1] == " ":
            return None
        return line[at:stop].strip()

    def joined(self, row: TableRow, more: str) -> TableRow:
        """The row with the rest of its value: a number that fills its column is broken inside, a list at its blanks."""
        last = row.cell.rpartition(" ")[2]
        inside = last[-1:].isdigit() or last[-1:] in ".,"
        return replace(row, cell=row.cell + ("" if inside else " ") + more)


def frame_of(line: str) -> Frame | None:
    """The columns that a line of dashes shows; None for other lines and other numbers of columns."""
    text = line.rstrip()
    spans = tuple(match.span() for match in re.finditer("-+", text))
    return Frame(spans, _shape(spans)) if len(spans) in GROUPS and not text.replace("-", "").strip() else None


@lru_cache(maxsize=1024)
def _shape(spans: tuple[tuple[int, int], ...]) -> re.Pattern[str]:
    """Of a row whose columns are `spans`, blanks between them."""
    kept = (0, 1, GROUPS[len(spans)])
    begin, end = spans[0]
    pattern = f" {{{begin}}}([A-Za-z#%]{_UNMARKED}{{{end - begin - 1}}})"
    for number, ((_, before), (start, stop)) in enumerate(pairwise(spans), start=1):
        cells = f"{_UNMARKED}{{{stop - start}}}"
        pattern += f" {{{start - before}}}" + (f"({cells})" if number in kept else cells)
    return re.compile(pattern + "\n")


class FramedRows:
    """Takes the rows of framed tables out of a stream of lines, while `frame` is set by whoever reads the others."""

    def __init__(self) -> None:
        self.frame: Frame | None = None
        self._rows: list[TableRow] = []

    def others(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """The lines that are no such rows; `taken` has the rows that stand before the one that was given last."""
        for number, line in lines:
            if (frame := self.frame) and line.startswith("  ") and (row := frame.row(number, line)):
                self._rows.append(row)
            elif frame and self._rows and (more := frame.continues(line)):
                self._rows[-1] = frame.joined(self._rows[-1], more)
            else:
                yield number, line

    def taken(self) -> list[TableRow]:
        """The rows since the last call."""
        rows, self._rows = self._rows, []
        return rows

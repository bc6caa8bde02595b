"""The lines of a console report, in order, to its events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from retriever.reports.console_events import (
    RULE_TAG,
    SHORT_HEADING,
    Event,
    Launch,
    Remark,
    Section,
    Table,
    TableRow,
    heading,
    is_unmistakable,
)
from retriever.reports.console_rows import label_at, own_label, read_cells
from retriever.reports.draft import SEVERITIES
from retriever.reports.frames import Frame, FramedRows, frame_of
from retriever.reports.kernel_lines import WRAPPED_OVER, launch_in, whole_kernel_lines
from retriever.reports.mend import mended
from retriever.reports.names import section_id
from retriever.reports.open_rule import OpenRule
from retriever.reports.profiler_errors import remark
from retriever.reports.rule_sentences import section_of_rule
from retriever.reports.source import TextSource
from retriever.reports.units import is_missing, is_unit

VALUE_OF_SUMMARY = 4  # Metric Name, Metric Unit, Minimum, Maximum, Average
NUMBERS_OF_SUMMARY = 3
NARROWEST = len("Metric Name")  # columns of a table's first group; fewer are the end of a line of dashes that a window broke

_DASHES = re.compile(r":?-{2,}[-\s:]*")
_WORD = re.compile(r"[A-Za-z][\w-]*")
_ONLY_VALUE = re.compile(r"(?:\(!\)\s*)?[+-]?[\d.,]*\d(?:[eE][+-]?\d+)?|(?:\(!\)\s*)?(?:n/a|nan)")
_TABLE = re.compile(r"Table Name : (\S.*)")
_BEHIND_LABEL = re.compile(r"\S \[(?:%|[A-Za-z/]+)\]\s+[\d(]")
"""A unit where the window has it."""
_PROCESS = re.compile(r"\[(\d{1,10})\] \S+@\S+$")
_FRAGMENT = re.compile(r"[\d.,]*\d[\d.,]*")
"""The rest of a number that a narrow window broke."""


def first_line(source: TextSource, first: int) -> int:
    """Where a console report begins: at `first`, or above it at a wrapped kernel line or at what lost its kernel line and section."""
    window: int | None = None
    for number, line in whole_kernel_lines(mended(source.lines())):
        begun = is_unmistakable(line)
        if begun or number >= first or launch_in(line) or heading(line):
            return window if begun and window else min(number, first)
        window = window or number if _is_of_window(line) else None
    return first


def _is_of_window(line: str) -> bool:
    """Whether a line is a row as the profiler's window copies it, `Duration [us]  12.3`; right above a report's first it belongs there."""
    return _BEHIND_LABEL.search(line) is not None and any(cells.cell for cells in read_cells(line.rstrip(), ""))


def events(source: TextSource, first: int) -> Iterator[Event]:
    """Everything a console report says from line `first` on, in order."""
    reader, framed = ConsoleReader(), FramedRows()
    for number, line in whole_kernel_lines(mended(framed.others(source.lines(max(1, first - WRAPPED_OVER))))):
        if number < first:
            reader.pass_by(line)
            continue
        yield from reader.framed(framed.taken())
        yield from reader.feed(number, line)
        framed.frame = reader.frame
    yield from reader.framed(framed.taken())
    yield from reader.flush(last=True)


class ConsoleReader:
    """Where the reading stands: inside which table, inside which rule."""

    def __init__(self) -> None:
        self._spans: list[tuple[int, int]] = []
        self._value: int | None = None
        self._section = ""
        self._numbers = 1
        self._rows = 0
        self._rule: OpenRule | None = None
        self._waiting: TableRow | None = None
        self._held: TableRow | None = None
        self._process = ""
        self._titled = False
        """True between a table's title and its end."""
        self._headed = False
        """True between the header of a table and the dashes under it."""
        self.frame: Frame | None = None
        """The columns of the table that is being read, where dashes and a header show them."""

    def framed(self, rows: list[TableRow]) -> Iterator[Event]:
        """Takes rows that were cut at their columns; the last is held back for what may stand below it."""
        if rows:
            yield from self.flush()
            self._rows += len(rows)
            yield from rows[:-1]
            self._held = rows[-1]

    def pass_by(self, line: str) -> None:
        """Takes from a line above the report which process it is of."""
        if process := _PROCESS.match(line.strip()):
            self._process = process[1]

    def feed(self, number: int, line: str) -> Iterator[Event]:
        """The events that `line` completes."""
        text = line.rstrip("\n")
        stripped = text.strip()
        if row := self._held:
            self._held = None
            if _FRAGMENT.fullmatch(stripped):
                yield Remark(row.line, f'the value of "{row.label}" is broken over two lines, so it was left out')
                return
            yield row
        if stripped.startswith("=="):
            if stripped.startswith(("==WARNING==", "==ERROR==")):
                yield Remark(number, remark(stripped))
        elif not stripped:
            if self._rule:
                self._rule.gap = True
            self.frame = None
        elif stripped[0] == "-" and _DASHES.fullmatch(stripped):
            yield from self.flush()
            if self._titled and self.frame and self._rows:
                yield Table(number, "")
                self._titled = False
            self._ruled(text)
        elif event := self._heading(number, text):
            yield from self.flush()
            self._spans, self.frame = [], None
            self._section = section_id(event.name) if isinstance(event, Section) else ""
            if isinstance(event, Launch):
                self._numbers = NUMBERS_OF_SUMMARY if event.invocations > 1 else 1
            yield event
        elif _DASHES.fullmatch(stripped):
            yield from self.flush()
            self._ruled(text)
        elif process := _PROCESS.match(stripped):
            yield from self.flush()
            self._process = process[1]
        elif title := _TABLE.fullmatch(stripped):
            yield from self.flush()
            yield Table(number, title[1])
            self._titled = True
        else:
            yield from self._inside(number, text, stripped, whole=line.endswith("\n"))

    def flush(self, last: bool = False) -> Iterator[Event]:
        """The rule that was being read, if any, and the row that waits for its value; `last` at the end of the text."""
        if row := self._held:
            self._held = None
            yield replace(row, open=True) if last and self.frame and self.frame.filled(row) else row
        if row := self._waiting:
            self._waiting = None
            yield Remark(row.line, f'row cut after "{row.label}"' if last else f'no value behind "{row.label}"')
        if rule := self._rule:
            self._rule = None
            yield rule.event()

    def _heading(self, number: int, text: str) -> Event | None:
        launch = launch_in(text, number)
        if launch:
            return replace(launch, process_id=self._process)
        name = heading(text)
        return Section(number, name) if name else None

    def _ruled(self, text: str) -> None:
        """A line of dashes opens a table, stands under its header or closes it; one under rules has two groups."""
        self.frame, self._headed = (frame_of(text) if self._headed else None), False
        spans = [match.span() for match in re.finditer("-+", text)]
        if len(spans) < 3 or (spans == self._spans and self._rows):
            self._spans = []
        elif spans != self._spans:
            self._spans, self._value = spans, 2 if len(spans) == 3 else None
        self._rows = 0

    def _inside(self, number: int, text: str, stripped: str, whole: bool) -> Iterator[Event]:
        if self.frame and (row := self.frame.row(number, text + "\n")) and whole:
            yield from self._take((row,), text, whole)
            return
        tag = RULE_TAG.match(text)
        if tag or (section_of_rule(stripped) and not (self._rule and self._rule.only_begun())):
            yield from self.flush()
            said = tag[2] if tag else text.lstrip()
            indent = len(text) - len(text.lstrip())
            self._rule, self._spans = OpenRule(number, SEVERITIES.get(tag[1], tag[1]) if tag else "INF", [said], indent, text), []
        elif stripped.startswith("Metric Name"):
            yield from self.flush()
            self._header(stripped)
        elif rows := self._cells(number, text, stripped):
            yield from self._take(rows, text, whole)
        elif self._waiting:
            yield from self.flush()
        elif self._rule:
            if self._rule.goes_on(text, stripped):
                self._rule.add(text)
            else:
                yield from self.flush()
        elif stripped.startswith("Warning:"):
            yield Remark(number, stripped)
        elif row := self._by_columns(number, text):
            yield from self._take((row,), text, whole)
        elif (
            (found := label_at(stripped, 0, self._section))
            and own_label(found[0], self._section)
            and any(sign.isdigit() for sign in stripped[found[1] :])
        ):
            yield Remark(number, f'the value of "{found[0]}" cannot be read: {stripped[:SHORT_HEADING]}')

    def _header(self, stripped: str) -> None:
        self._headed = True
        summary = stripped.endswith("Average")
        self._numbers = NUMBERS_OF_SUMMARY if summary else 1
        if summary and len(self._spans) > VALUE_OF_SUMMARY:
            self._value = VALUE_OF_SUMMARY

    def _cells(self, number: int, text: str, stripped: str) -> tuple[TableRow, ...]:
        """The rows of a line read by words, or the value that the row above waits for."""
        if waiting := self._waiting:
            if is_unit(stripped) and not waiting.unit:
                self._waiting = TableRow(waiting.line, 1, waiting.label, stripped, "")
                return (self._waiting,)
            unit, _, value = stripped.rpartition(" ")
            if _ONLY_VALUE.fullmatch(value) and (not unit or (is_unit(unit.strip()) and not waiting.unit)):
                return (TableRow(number, text.rindex(value) + 1, waiting.label, unit.strip() or waiting.unit, value),)
        cells = read_cells(text.rstrip(), self._section, self._numbers)
        return tuple(TableRow(number, cell.column, cell.label, cell.unit, cell.cell) for cell in cells)

    def _take(self, rows: tuple[TableRow, ...], text: str, whole: bool) -> Iterator[Event]:
        if rows[0] is self._waiting:
            return
        if self._waiting and rows[0].label == self._waiting.label:
            self._waiting = None
        if self._rule and not rows[-1].cell:
            self._rule.add(text)
            return
        yield from self.flush()
        self._rows += len(rows)
        yield from rows[:-1]
        if not rows[-1].cell:
            self._waiting = rows[-1]
        elif whole:
            self._held = rows[-1]
        else:
            aligned = bool(self._spans) and self._spans[-1][1] == len(text.rstrip())
            yield replace(rows[-1], open=not aligned and not is_missing(rows[-1].cell))

    def _by_columns(self, number: int, text: str) -> TableRow | None:
        """A row of a table whose dashes are whole, cut at them; for labels and words that are not known in advance.

        Values end where the last dashes end, as units do: anything else is a line that someone wrote into the table.
        """
        spans, at = self._spans, self._value
        if not spans or at is None or len(text.rstrip()) != spans[-1][1] or spans[0][1] - spans[0][0] < NARROWEST:
            return None
        if any(text[end:start].strip() for (_, end), (start, _) in pairwise(spans)):
            return None
        label, unit, cell = (text[slice(*spans[column])].strip() for column in (0, 1, at))
        if (
            not label
            or label_at(label, 0, "")
            or (unit and not is_unit(unit))
            or not (_ONLY_VALUE.fullmatch(cell) or _WORD.fullmatch(cell))
        ):
            return None
        start = spans[at][0] + len(text[slice(*spans[at])]) - len(text[slice(*spans[at])].lstrip())
        return TableRow(number, start + 1, label, unit, cell)

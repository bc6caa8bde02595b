"""The lines of a console report to what they say: launches, sections, table rows, rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from retriever.reports.draft import SEVERITIES, Dimensions
from retriever.reports.names import known_label, section_id
from retriever.reports.source import TextSource
from retriever.reports.units import is_missing

_TRIPLE = r"\((\d{1,10}), ?(\d{1,10}), ?(\d{1,10})\)"
_LAUNCH = re.compile(
    rf"{_TRIPLE}x{_TRIPLE}, (?:Context \d+, Stream \d+, )?Device (\d+), CC (\d+\.\d+)" + r"(?:, Invocations (\d{1,9}))?\s*$"
)
_LAUNCH_EARLIER = re.compile(r"(?:, \d{4}-\w{3}-\d{2} \d{2}:\d{2}:\d{2})?, Context \d+, Stream \d+\s*$")
_SECTION = re.compile(r"\s*Section: (.*)")
_DASHES = re.compile(r"-{3,}(?: +-+)*")
_RULE = re.compile(r"\s*(INF|OPT|WRN|ERR|OK(?=\s\s))\s+(\S.*)")
_SPEEDUP = re.compile(r"(?:Est\.|Estimated) (?:(Local|Global) )?Speedup:\s*([\d.,]+)\s*%\s*")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_UNIT = re.compile(r"%|#|[A-Za-zµ]+(?:/[A-Za-z]+)?")
_NUMBER = re.compile(r"[+-]?\d[\d.,]*(?:[eE][+-]?\d+)?")

VALUE_OF_SUMMARY = 4  # Metric Name, Metric Unit, Minimum, Maximum, Average


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel line."""

    line: int
    signature: str
    earlier: bool
    """True for the line of versions up to about 2022.1, without grid and compute capability."""
    grid: Dimensions | None = None
    block: Dimensions | None = None
    compute_capability: str | None = None
    invocations: int = 1


@dataclass(frozen=True, slots=True)
class Section:
    line: int
    name: str


@dataclass(frozen=True, slots=True)
class TableRow:
    line: int
    column: int
    """Where the value begins, from 1."""
    label: str
    unit: str
    cell: str


@dataclass(frozen=True, slots=True)
class Rule:
    line: int
    severity: str
    text: str
    speedup: str = ""
    """Estimated speedup in percent, as printed."""
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """A line for the notes."""

    line: int
    text: str


Event = Launch | Section | TableRow | Rule | Remark


def launch_line(line: str) -> Launch | None:
    """The launch that a kernel line announces, with line number 0; None for any other line."""
    if "Device " in line and (match := _LAUNCH.search(line)):
        numbers = [int(match[at]) for at in range(1, 7)]
        signature = line[: match.start()].strip()
        count = int(match[9] or 1)
        return Launch(0, signature, False, (*numbers[:3],), (*numbers[3:],), match[8], count) if signature else None
    if "Context " in line and (match := _LAUNCH_EARLIER.search(line)):
        signature = line[: match.start()].strip()
        return Launch(0, signature, True) if signature else None
    return None


def section_name(line: str) -> str | None:
    """The display name on a section line."""
    match = _SECTION.match(line)
    return (match[1].strip() or None) if match else None


def events(source: TextSource, first: int) -> Iterator[Event]:
    """Everything a console report says from line `first` on, in order."""
    reader = ConsoleReader()
    for number, line in source.lines(first):
        yield from reader.feed(number, line)
    yield from reader.flush()


class ConsoleReader:
    """Where the reading stands: inside which table, inside which rule."""

    def __init__(self) -> None:
        self._spans: list[tuple[int, int]] = []
        self._value: int | None = None
        self._section = ""
        self._rows = 0
        self._begun = False
        self._rule: tuple[int, str, list[str]] | None = None

    def feed(self, number: int, line: str) -> Iterator[Event]:
        """The events that `line` completes."""
        text = _ANSI.sub("", line) if "\x1b" in line else line
        stripped = text.strip()
        if stripped.startswith("=="):
            if stripped.startswith(("==WARNING==", "==ERROR==")):
                yield Remark(number, stripped)
        elif not stripped:
            yield from self.flush()
        elif event := self._heading(number, text):
            yield from self.flush()
            self._begun, self._spans = True, []
            self._section = section_id(event.name) if isinstance(event, Section) else ""
            yield event
        elif _DASHES.fullmatch(stripped):
            yield from self.flush()
            self._ruled(text)
        elif self._begun:
            yield from self._inside(number, text, stripped)

    def flush(self) -> Iterator[Event]:
        """The rule that was being read, if any."""
        if self._rule:
            line, severity, parts = self._rule
            self._rule = None
            yield _rule(line, severity, " ".join(parts))

    def _heading(self, number: int, text: str) -> Event | None:
        if "Section:" in text and (name := section_name(text)):
            return Section(number, name)
        launch = launch_line(text)
        if not launch:
            return None
        fields = (launch.signature, launch.earlier, launch.grid, launch.block, launch.compute_capability, launch.invocations)
        return Launch(number, *fields)

    def _ruled(self, text: str) -> None:
        """A line of dashes opens a table, stands under its header or closes it; one under rules has two groups."""
        spans = [match.span() for match in re.finditer("-+", text)]
        if len(spans) < 3 or (spans == self._spans and self._rows):
            self._spans = []
        elif spans != self._spans:
            self._spans, self._value = spans, 2 if len(spans) == 3 else None
        self._rows = 0

    def _inside(self, number: int, text: str, stripped: str) -> Iterator[Event]:
        match = _RULE.match(text)
        if match:
            yield from self.flush()
            self._rule, self._spans = (number, SEVERITIES.get(match[1], match[1]), [match[2].strip()]), []
        elif self._rule:
            self._rule[2].append(stripped)
        elif stripped.startswith("Warning:"):
            yield Remark(number, stripped)
        elif not stripped.startswith("Metric Name"):
            yield from self._row(number, text, stripped)
        elif stripped.endswith("Average") and len(self._spans) > VALUE_OF_SUMMARY:
            self._value = VALUE_OF_SUMMARY

    def _row(self, number: int, text: str, stripped: str) -> Iterator[Event]:
        row = self._by_columns(number, text) if self._spans else None
        row = row or _by_words(number, text, stripped, self._section)
        if row is None:
            return
        self._rows += 1
        if not text.endswith("\n") and self._spans and len(text.rstrip()) < self._spans[-1][1]:
            yield Remark(number, f'row cut after "{row.label}"')
        else:
            yield row

    def _by_columns(self, number: int, text: str) -> TableRow | None:
        """The row cut at the table's dashes; None when text stands where the gaps between columns are."""
        spans, at = self._spans, self._value
        if at is None or any(text[end:start].strip() for (_, end), (start, _) in pairwise(spans)):
            return None
        start, end = spans[at][0], spans[at][1] if at + 1 < len(spans) else len(text)
        label, unit, cell = text[: spans[0][1]].strip(), text[slice(*spans[1])].strip(), text[start:end].strip()
        if not label or " " in unit:
            return None
        column = start + len(text[start:end]) - len(text[start:end].lstrip()) + 1
        return TableRow(number, column, label, unit, cell)


def _by_words(number: int, text: str, stripped: str, section: str) -> TableRow | None:
    """A row whose columns are lost: a label of the section, then a unit or none, then a number or a missing value."""
    label = known_label(stripped, section)
    if not label:
        return None
    words = stripped[len(label) :].split()
    if words[:1] == ["(!)"] or words[1:2] == ["(!)"]:
        words = [word for word in words if word != "(!)"]
    if not words or len(words) > 2 or not (_NUMBER.fullmatch(words[-1]) or is_missing(words[-1])):
        return None
    unit = words[0] if len(words) == 2 else ""
    if unit and not _UNIT.fullmatch(unit):
        return None
    return TableRow(number, text.rindex(words[-1]) + 1, label, unit, words[-1])


def _rule(line: int, severity: str, text: str) -> Rule:
    match = _SPEEDUP.match(text)
    if not match:
        return Rule(line, severity, text)
    scope = (match[1] or "global").lower()
    return Rule(line, severity, text[match.end() :], match[2], scope)

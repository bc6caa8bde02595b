"""Two reports in one text: a diff of them, whose lines with `-` are of the first and with `+` of the second."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import islice

from retriever.reports.console_rows import read_cells
from retriever.reports.profile import Profile, Report
from retriever.reports.source import TextSource
from retriever.reports.units import STYLE_NOTE

LINES_SEARCHED = 1000  # a guess: a diff shows itself far earlier, and a whole large text is not worth another pass

SIGNS = (("-", "+"), ("<", ">"))
"""Of the lines of the first and of the second report: a unified diff, and what plain `diff` prints."""

LABELS = ("A", "B")

_HUNK = re.compile(r"@@ -\d+(?:,[1-9]\d*)? \+\d+(?:,[1-9]\d*)? @@")
"""Head of a hunk that has lines of both files."""
_HEAD = re.compile(r"@@ |diff -|index [0-9a-f]{7}|(?:---|\+\+\+) \S")
"""Lines that are of neither report."""


@dataclass(frozen=True, slots=True)
class Side(TextSource):
    """One of the two reports, with the line numbers of the diff."""

    own: str = "-"
    other: str = "+"

    def lines(self, first: int = 1) -> Iterator[tuple[int, str]]:
        """As the diff's lines without those of the other report; a space stands in place of the sign, so that columns stay."""
        for number, line in TextSource.lines(self, first):
            if _HEAD.match(line) or (line.startswith(self.other) and not _ruled(line)):
                continue
            yield number, f" {line[1:]}" if line.startswith(self.own) and not _ruled(line) else line


def sides_of(source: TextSource) -> tuple[Side, Side] | None:
    """The two files of a diff; None for a text that has no head of a hunk and shows no metric behind both signs."""
    for minus, plus in SIGNS:
        if _is_diff(source, minus, plus):
            known = {field.name: getattr(source, field.name) for field in fields(source)}
            return Side(**known, own=minus, other=plus), Side(**known, own=plus, other=minus)
    return None


def _is_diff(source: TextSource, minus: str, plus: str) -> bool:
    """Whether a hunk has lines of both files, or without its head, the same label or a row of CSV stands behind both signs."""
    seen: dict[str, set[str]] = {minus: set(), plus: set()}
    for _, line in islice(source.lines(), LINES_SEARCHED):
        if minus == "-" and _HUNK.match(line):
            return True
        if line[:1] in seen and not _HEAD.match(line) and not _ruled(line):
            seen[line[0]].update(_subjects(line[1:]))
            if seen[minus] & seen[plus]:
                return True
    return False


def _subjects(text: str) -> tuple[str, ...]:
    if re.match(r'"\d+"[,;\t]', text):
        return ("row of CSV",)
    return tuple(cells.label for cells in read_cells(text.rstrip(), "") if cells.cell)


def _ruled(line: str) -> bool:
    """Whether a line of dashes begins where the signs stand."""
    return line.startswith("--") and not line.strip("- \r\n")


def both(source: TextSource, first: Report, second: Report) -> Report:
    """One report with the launches of both, each labelled by its side; one side alone where the diff changes no value."""
    if _values(first) == _values(second):
        return second
    labelled = tuple(_labelled(profile, label) for report, label in zip((first, second), LABELS) for profile in report.profiles)
    note = (
        f"a diff of two reports: launches named A are the one before (its lines with - or <), B the one after; "
        f"to compare them, give the two files that {source.name} was made of: warplore diagnose BEFORE --vs AFTER"
    )
    same = _number_signs(first) == _number_signs(second)
    more = (item for item in second.notes if not (same and item.startswith(STYLE_NOTE)))
    return Report(source.name, first.layout, labelled, tuple(dict.fromkeys((*first.notes, *more, note))))


def _number_signs(report: Report) -> str:
    """The rule by which numbers were read, without its counts."""
    return next((note for note in report.notes if note.startswith(STYLE_NOTE)), "").partition(" (shown by")[0]


def _values(report: Report) -> list[tuple[str, dict[str, float]]]:
    return [(profile.signature or profile.kernel, {n: m.value for n, m in profile.metrics.items()}) for profile in report.profiles]


def _labelled(profile: Profile, label: str) -> Profile:
    return replace(profile, kernel=f"{label}: {profile.kernel}" if profile.kernel else label)

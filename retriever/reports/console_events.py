"""What the lines of a console report say: launches, sections, table rows, rules; and how a report shows in a single line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from retriever.reports.console_rows import folded, read_cells
from retriever.reports.kernel_lines import Launch, launch_in
from retriever.reports.mend import mended_line
from retriever.reports.names import SECTION_IDS
from retriever.reports.rule_sentences import section_of_rule
from retriever.reports.units import is_missing

RULE_TAG = re.compile(r"\s*[*`]*(INFO?|OPT|WRN|ERR|OK(?=\s\s))(?![\w/])[\s:*`\]-]*(.*)")
"""Tag and text of a rule's first line."""
SPEEDUP = re.compile(r"(?:Est\.|Estimated)\s+(?:(Local|Global)\s+)?Speedup:\s*([\d.,]*\d(?:[eE][+-]?\d+)?)\s*%\s*")
"""Scope and percentage of a rule's estimate."""

_SECTION = re.compile(r"[\s#*\">-]*Section:\s*(.*)")
_HEADINGS = {folded(name): name for name in SECTION_IDS if " " in name}
SHORT_HEADING = 60  # characters; a section's name alone on a line is no longer


@dataclass(frozen=True, slots=True)
class Section:
    line: int
    name: str


@dataclass(frozen=True, slots=True)
class Table:
    """The title of a table inside a section, which `--print-details all` prints."""

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
    open: bool = False
    """True when the text ends right behind it, so that digits may be missing."""
    framed: bool = False
    """True when it stands in its table's columns as ncu printed them, so that label and unit are whole."""


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


Event = Launch | Section | Table | TableRow | Rule | Remark


def launch_line(line: str) -> Launch | None:
    """The launch that a line of a paste announces, with line number 0; None for any other line."""
    return next((launch for part in mended_line(line) if (launch := launch_in(part))), None)


def shows_a_launch(line: str) -> bool:
    """Whether a line can only be part of a report whose kernel line is lost: one of ncu's rules, or a row that no program prints."""
    return any(is_unmistakable(part) for part in mended_line(line))


def is_unmistakable(text: str) -> bool:
    """The same for a line that is mended already."""
    stripped = text.strip()
    if not stripped or stripped.startswith("=="):
        return False
    rule = RULE_TAG.match(text)
    if section_of_rule(stripped) or (rule and (section_of_rule(rule[2]) or SPEEDUP.match(rule[2]))):
        return True
    rows = read_cells(text.rstrip(), "*") if any(sign.isdigit() for sign in stripped) else ()
    return any(cells.unit and not is_missing(cells.cell) for cells in rows)


def section_name(line: str) -> str | None:
    """The display name on a section line."""
    for part in mended_line(line):
        match = _SECTION.match(part)
        if match and (name := match[1].strip(" \"'*`#,:")):
            return name
    return None


def heading(text: str) -> str | None:
    """A section's name that stands alone on a line, its `Section:` lost; names of one word need the word."""
    if "Section:" in text:
        return section_name(text)
    return _HEADINGS.get(folded(text)) if len(text) < SHORT_HEADING else None

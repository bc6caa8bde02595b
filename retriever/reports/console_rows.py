"""Rows of a report's tables read word by word: labels, units and values, wherever the columns went."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from retriever.reports.names import LABELS, RAW_NAME, metric_name
from retriever.reports.units import base_unit, expected_units, is_missing, is_unit

VALUED_BY_WORDS = frozenset({"Function Cache Configuration", "Enabled TPC IDs", "Cluster Scheduling Policy"})

_OCR = {"1": "[1lI|]", "l": "[1lI|]", "i": "[1lI|]", "o": "[oO0]", "0": "[oO0]", " ": r"\s*", "/": r"\s*/?\s*", ".": r"\.?\s*"}
"""What a picture of text, or a lost space, may leave of a label's characters; digits of values are never guessed."""
_OCR |= {"(": r"\(?", ")": r"\)?", "[": r"\[\s*", "]": r"\s*\]", "#": "#", "%": "%"}
_FOLDED_AWAY = re.compile(r"[^a-z0-9%#]")
_ALIKE = str.maketrans("lio|", "1101")


def folded(label: str) -> str:
    """A label without spaces, case, brackets and the letters that look alike."""
    return _FOLDED_AWAY.sub("", label.lower().translate(_ALIKE))


PRINTED_BY_PROGRAMS = frozenset(
    map(folded, ("Duration", "Threads", "Block Size", "Grid Size", "Stack Size", "Cluster Size", "Memory Throughput", "# SMs"))
)
"""Labels that a program may well print itself: outside their own section they are not believed."""

_SECTIONS_OF: dict[str, set[str]] = {}
_SPELLING: dict[str, str] = {}
for _section, _label in LABELS:
    _SECTIONS_OF.setdefault(folded(_label), set()).add(_section)
    _SPELLING.setdefault(folded(_label), _label)

_BY_LENGTH = sorted(_SPELLING.values(), key=len, reverse=True)
_LABEL = re.compile(
    rf"(?P<raw>{RAW_NAME.pattern})|(?:"
    + "|".join("".join(_OCR.get(c, re.escape(c)) for c in label.lower()) for label in _BY_LENGTH)
    + r")(?![\w%/])",
    re.IGNORECASE,
)
_FIRST = frozenset("1iI|lL#oO0") | {c for label in _BY_LENGTH for c in (label[0].lower(), label[0].upper())}

_NAMED = re.compile(rf"\s*\(({RAW_NAME.pattern})\)")
"""The metric that `--print-metric-name label-name` prints behind its label."""
_BULLET = re.compile(r"(?:[-*•·+>]|\d{1,2}[.)])\s+(?=\S)")
_SEPARATOR = re.compile(r"\s*(?:[:=,;]|->|=>|\*\*|`|-(?=\s+\S))?\s*")
_MARK = re.compile(r"\(!\)\s*")
_UNIT = re.compile(r"%|#|[A-Za-zµμ]+(?:/[A-Za-zµμ]+)?")
_BRACKETED_UNIT = re.compile(r"[(\[]\s*(%|[A-Za-zµμ]+(?:/[A-Za-zµμ]+)?)\s*[)\]]")
_NOTHING = re.compile(r"(?:n/?a|[+-]?nan|[+-]?inf(?:inity)?|-)(?![\w/])", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?\d(?:[\d.,]*\d)?(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"[A-Za-z]\w*(?=\s*$|\s{2})")
_SPACED_NUMBER = re.compile(r"\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?=\s*$)")
_ENDS = re.compile(r"[\s|;\"'`*)\]},]|$|\.(?:\s|$)")
_REST = re.compile(r"[\s|;,\"'`*)\]}.·•]*")
_COMMENT = re.compile(r"[(<#!←/*✓✗⚠]|--")


@dataclass(frozen=True, slots=True)
class Cells:
    """One metric's words."""

    label: str
    """As ncu spells it."""
    unit: str
    cell: str
    """The value as printed; empty where the line ends after the label or unit."""
    column: int
    """Where the value begins, from 1."""


def own_label(label: str, section: str) -> bool:
    """Whether `label` is one of `section`, or a raw name."""
    return section in _SECTIONS_OF.get(folded(label), ()) or RAW_NAME.fullmatch(label) is not None


def is_known(label: str) -> bool:
    """Whether any section has this label."""
    return folded(label) in _SECTIONS_OF


def label_at(text: str, at: int, section: str) -> tuple[str, int] | None:
    """The label that stands at `at` and where it ends; one of another section only where no program would print it."""
    if text[at : at + 1] not in _FIRST:
        return None
    match = _LABEL.match(text, at)
    if not match:
        return None
    if match["raw"]:
        return match[0], match.end()
    key = folded(match[0])
    sections = _SECTIONS_OF.get(key)
    if sections is None or (section and section not in sections and key in PRINTED_BY_PROGRAMS):
        return None
    return _SPELLING[key], match.end()


def read_cells(text: str, section: str, values: int = 1) -> tuple[Cells, ...]:
    """The metrics that a line consists of: a label, a unit or none, and a value, once or several times; empty for any other line.

    `values` numbers stand after each unit (a summary prints minimum, maximum and average), of which the last counts. A line that
    ends after its first label or unit gives that label with an empty cell.
    """
    if "**" in text or "`" in text:
        text = text.replace("**", "").replace("`", "")
    at = len(text) - len(text.lstrip())
    if (found := label_at(text, at, section)) is None:
        bullet = _BULLET.match(text, at)
        if bullet is None or (found := label_at(text, bullet.end(), section)) is None:
            return ()
    read: list[Cells] = []
    while found:
        label, end = found
        if named := _NAMED.match(text, end):
            label, end = named[1], named.end()
        cells, end = _value(text, label, end, values)
        if cells is None:
            return ()
        read.append(cells)
        end = _REST.match(text, end).end()  # type: ignore[union-attr]
        if end >= len(text):
            return tuple(read)
        found = label_at(text, end, section) if cells.cell else None
        if found is None and cells.cell and _COMMENT.match(text, end):
            return tuple(read)
    return ()


def _value(text: str, label: str, at: int, values: int) -> tuple[Cells | None, int]:
    """The unit and value after a label, and where they end; None when something else stands there."""
    at = _SEPARATOR.match(text, at).end()  # type: ignore[union-attr]
    unit = ""
    if (bracketed := _BRACKETED_UNIT.match(text, at)) and is_unit(bracketed[1]):
        unit, at = bracketed[1], _SEPARATOR.match(text, bracketed.end()).end()  # type: ignore[union-attr]
    elif (
        (match := _UNIT.match(text, at))
        and (is_unit(match[0]) or _NOTHING.fullmatch(match[0]))
        and not text[match.end() : match.end() + 1].isalnum()
    ):
        after = _SEPARATOR.match(text, match.end()).end()  # type: ignore[union-attr]
        if after >= len(text.rstrip()) and is_unit(match[0]):
            return Cells(label, match[0], "", at + 1), len(text)
        if is_unit(match[0]) or _NOTHING.match(text, _skip_mark(text, after)):
            unit, at = match[0], after
    start = at
    if label in VALUED_BY_WORDS and (word := _WORD.match(text, at)):
        return Cells(label, "", word[0], at + 1), word.end()
    for _ in range(values):
        start = _skip_mark(text, at)
        end = _end_of_value(text, start, values)
        if end is None:
            return (Cells(label, unit, "", start + 1), len(text)) if not text[start:].strip() else (None, at)
        at = end + len(text[end:]) - len(text[end:].lstrip()) if values > 1 else end
    cell = text[start:at].strip()
    if not unit and not is_missing(cell):
        unit, at = _unit_behind(text, at)
    return (Cells(label, unit, cell, start + 1), at) if _ENDS.match(text, at) or values > 1 else (None, at)


def _skip_mark(text: str, at: int) -> int:
    match = _MARK.match(text, at)
    return match.end() if match else at


def _end_of_value(text: str, at: int, values: int) -> int | None:
    for pattern in (_SPACED_NUMBER, _NUMBER, _NOTHING) if values == 1 else (_NUMBER, _NOTHING):
        if match := pattern.match(text, at):
            return match.end()
    return None


def _unit_behind(text: str, at: int) -> tuple[str, int]:
    """The unit that a person wrote behind the value; `256 threads` could as well begin the next metric, so words that count do not do."""
    space = len(text[at:]) - len(text[at:].lstrip(" "))
    match = _UNIT.match(text, at + space) if space < 3 else None
    if not match or not is_unit(match[0]) or not _ENDS.match(text, match.end()):
        return "", at
    known = base_unit(match[0])[0]
    return (match[0], match.end()) if "/" in match[0] or known in ("%", "ns", "byte", "hz", "cycle") else ("", at)


@lru_cache(maxsize=4096)
def trusted(section: str, label: str, unit: str, zero: bool) -> tuple[bool, str]:
    """Whether a row's unit fits its metric, and the unit to use: a lost `%` is restored, any other lost or wrong unit is not guessed."""
    expected = expected_units(metric_name(section, label, base_unit(unit)[0]))
    if not expected or base_unit(unit)[0] in expected or (zero and not unit):
        return True, unit
    ambiguous = label == "Memory Throughput" and section != "SpeedOfLight"
    return (True, "%") if not unit and expected == ("%",) and not ambiguous else (False, unit)

"""A rule of a console report while its lines are being read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from retriever.reports.console_events import SPEEDUP, Rule

CONTINUED_BY = 4  # ncu indents a rule's further lines by six columns more than its tag, and nothing else by so much

_SENTENCE_END = re.compile(r"[.!?:]\s*$")
_OTHER_SCRIPT = re.compile(r"[\u0400-\u04ff\u0600-\u06ff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Cyrillic, Arabic, Thai, Japanese, Chinese, Korean: a rule is in English."""


@dataclass(slots=True)
class OpenRule:
    """A rule whose lines are being read."""

    line: int
    severity: str
    parts: list[str]
    indent: int
    last: str = ""
    """The line read last, with its indentation and the blanks behind it."""
    width: int = 0
    """Columns that ncu pads the rule's lines to; 0 until a padded line shows it."""
    gap: bool = False
    """True when an empty line stood behind the last part: the end, unless the copy doubled its line breaks."""

    def goes_on(self, text: str, stripped: str) -> bool:
        """Whether a line is more of this rule, not a remark that someone typed below it."""
        indent = len(text) - len(text.lstrip())
        if indent >= self.indent + CONTINUED_BY:
            return True
        begins_anew = stripped[0].isupper() or not (stripped[0].isascii() or stripped[0].isalnum())
        if self.ended() and (self.gap or (indent < self.indent and begins_anew)):
            return False
        return not (_OTHER_SCRIPT.search(stripped) and not any(_OTHER_SCRIPT.search(part) for part in self.parts))

    def ended(self) -> bool:
        """Whether what is there ends like a sentence."""
        return _SENTENCE_END.search(self.parts[-1]) is not None

    def only_begun(self) -> bool:
        """Whether it has only its tag or estimate yet, or breaks off within a sentence."""
        return not self.ended() or SPEEDUP.fullmatch(self.parts[-1].strip()) is not None

    def add(self, text: str) -> None:
        """One more line; what a terminal, or ncu at the full width, broke in mid-word is joined without a space."""
        self.width = len(self.last) if self.last.endswith(" ") else self.width
        full = 0 < self.width == len(self.last) and not self.last.endswith(" ")
        wrapped = not self.gap and (full or (self.indent > 0 and not text.startswith(" ")))
        self.last, text = text, text.lstrip() if full else text
        self.gap = False
        if wrapped and self.parts[-1]:
            self.parts[-1] += text
        else:
            self.parts.append(text)

    def event(self) -> Rule:
        text = " ".join(" ".join(self.parts).split())
        match = SPEEDUP.match(text)
        if not match:
            return Rule(self.line, self.severity, text)
        return Rule(self.line, self.severity, text[match.end() :], match[2], (match[1] or "global").lower())

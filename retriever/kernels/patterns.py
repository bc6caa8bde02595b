"""Facts that a pattern in the text is enough for: each found once, at its first line, with what was seen."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from retriever.kernels.facts import Fact

Pattern = tuple[str, str]
"""A vocabulary id and the regular expression that shows it."""

MAX_WHY = 80
"""Characters of the source that a fact quotes."""


def find_facts(text: str, patterns: Iterable[Pattern]) -> list[Fact]:
    """The facts whose pattern occurs in `text`, in order of the table; an id is given once, by its earliest place."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    found: dict[str, tuple[int, str]] = {}
    for word, expression in patterns:
        match = re.search(expression, text)
        if match and (word not in found or match.start() < found[word][0]):
            found[word] = (match.start(), " ".join(match[0].split())[:MAX_WHY])
    return [Fact(word, bisect_right(starts, at), seen) for word, (at, seen) in found.items()]


def first_of_each(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """One fact an id, the earliest line, ids in the order first given."""
    earliest: dict[str, Fact] = {}
    for fact in facts:
        if fact.id not in earliest or fact.line < earliest[fact.id].line:
            earliest[fact.id] = fact
    return tuple(earliest.values())

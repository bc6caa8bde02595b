"""The errors that Warplore raises: what went wrong, where, and how to mend it."""

from __future__ import annotations

from rapidfuzz import process


class WarploreError(Exception):
    """Base of every error a user can cause; the CLI prints it and exits with `exit_code`."""

    exit_code = 2


class CorpusError(WarploreError):
    """A corpus file breaks its schema. `problems` are `path:line: message` strings, sorted."""

    exit_code = 1

    def __init__(self, problems: list[str]):
        self.problems = sorted(problems)
        super().__init__("\n".join(self.problems))


class InputError(WarploreError):
    """A file, a name or an option that the user gave cannot be used."""


class IndexMissingError(WarploreError):
    """The index is absent, unreadable, or was made by another format, encoder or corpus."""

    exit_code = 3


def nearest(word: str, allowed: list[str] | tuple[str, ...], limit: int = 3) -> list[str]:
    """The allowed words closest to `word`, best first; empty when none is close."""
    found = process.extract(word, allowed, limit=limit, score_cutoff=55, processor=str.lower)
    return [match for match, _, _ in found]


def did_you_mean(word: str, allowed: list[str] | tuple[str, ...]) -> str:
    """`; did you mean "x"?` for the closest allowed word, or the empty string."""
    close = nearest(word, allowed, limit=1)
    return f'; did you mean "{close[0]}"?' if close else ""

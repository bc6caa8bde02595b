"""Launches of two reports that are the same work: by name, grid and order, then by name, then what one kernel was renamed to."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from retriever.diagnosis import Diagnosed
from retriever.reports.profile import Profile

RENAMED = "renamed: the only kernel without a partner on each side"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two launches taken for the same work."""

    before: Diagnosed
    after: Diagnosed
    how: str
    """Why they belong together, in words."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """Every launch of both reports, once."""

    pairs: tuple[Pair, ...]
    """In the order of the first report."""
    only_before: tuple[Profile, ...]
    only_after: tuple[Profile, ...]


def pair_launches(before: tuple[Diagnosed, ...], after: tuple[Diagnosed, ...]) -> Pairing:
    """The launches of two reports matched; within equal names and grids the first belongs to the first."""
    left, right = list(range(len(before))), list(range(len(after)))
    found: dict[int, tuple[int, str]] = {}
    steps: tuple[tuple[Callable[[Profile], Hashable], str], ...] = (
        (lambda profile: (profile.kernel, profile.signature, profile.grid, profile.block), "same name, grid and block"),
        (lambda profile: (profile.kernel, profile.grid), "same name and grid"),
        (lambda profile: profile.kernel, "same name, another grid"),
    )
    for key, how in steps:
        _take(key, how, before, after, left, right, found)
    if len({before[i][0].kernel for i in left}) == 1 == len({after[j][0].kernel for j in right}):
        _take(lambda profile: profile.grid, RENAMED, before, after, left, right, found)
        _take(lambda profile: "", RENAMED, before, after, left, right, found)
    pairs = tuple(Pair(before[i], after[j], how) for i, (j, how) in sorted(found.items()))
    return Pairing(pairs, tuple(before[i][0] for i in left), tuple(after[j][0] for j in right))


def _take(
    key: Callable[[Profile], Hashable],
    how: str,
    before: tuple[Diagnosed, ...],
    after: tuple[Diagnosed, ...],
    left: list[int],
    right: list[int],
    found: dict[int, tuple[int, str]],
) -> None:
    """Moves what `key` matches, in order, from `left` and `right` to `found`."""
    waiting: dict[Hashable, list[int]] = {}
    for j in right:
        waiting.setdefault(key(after[j][0]), []).append(j)
    for i in list(left):
        partners = waiting.get(key(before[i][0]))
        if partners:
            j = partners.pop(0)
            found[i] = (j, how)
            left.remove(i)
            right.remove(j)

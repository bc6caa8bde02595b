"""Launches of two reports that are the same work: by name, grid and order, then by name, then what one kernel was renamed to.

Older pages give no grid in the kernel line, only the sizes `launch__grid_size` and `launch__block_size`; what is missing is not compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from retriever.diagnosis import Diagnosed
from retriever.reports.profile import Profile

RENAMED = "renamed: the only kernel without a partner on each side"
SAME_NAME = "same name"
UNNAMED = "neither has a name"


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


def grid_size(profile: Profile) -> int | None:
    """Blocks of the launch, by the kernel line or the metric; None where the report has neither."""
    return _size(profile.grid, profile.value("launch__grid_size"))


def block_size(profile: Profile) -> int | None:
    """Threads of a block, likewise."""
    return _size(profile.block, profile.value("launch__block_size"))


def _size(shape: tuple[int, int, int] | None, metric: float | None) -> int | None:
    return math.prod(shape) if shape else None if metric is None else round(metric)


def pair_launches(before: tuple[Diagnosed, ...], after: tuple[Diagnosed, ...]) -> Pairing:
    """The launches of two reports matched; within equal names and grids the first belongs to the first."""
    left, right = list(range(len(before))), list(range(len(after)))
    found: dict[int, tuple[int, str]] = {}
    steps: tuple[tuple[Callable[[Profile], Hashable], str], ...] = (
        (lambda p: (p.kernel, p.signature, p.grid, p.block) if p.grid and p.block else None, f"{SAME_NAME}, grid and block"),
        (lambda p: (p.kernel, p.grid) if p.grid else None, f"{SAME_NAME} and grid"),
        (lambda p: _sized((p.kernel, p.signature), grid_size(p), block_size(p)), f"{SAME_NAME}, grid size and block size"),
        (lambda p: _sized((p.kernel,), grid_size(p)), f"{SAME_NAME} and grid size"),
        (lambda p: (p.kernel, p.signature), SAME_NAME),
        (lambda p: p.kernel, SAME_NAME),
    )
    for key, how in steps:
        _take(key, how, before, after, left, right, found)
    if len({before[i][0].kernel for i in left}) == 1 == len({after[j][0].kernel for j in right}):
        _take(grid_size, RENAMED, before, after, left, right, found)
        _take(lambda profile: "", RENAMED, before, after, left, right, found)
    pairs = tuple(Pair(before[i], after[j], _in_words(how, before[i][0], after[j][0])) for i, (j, how) in sorted(found.items()))
    return Pairing(pairs, tuple(before[i][0] for i in left), tuple(after[j][0] for j in right))


def _sized(names: tuple[str, ...], *sizes: int | None) -> Hashable:
    return None if None in sizes else (*names, *sizes)


def _in_words(how: str, old: Profile, new: Profile) -> str:
    if how == SAME_NAME and grid_size(old) is not None and grid_size(new) is not None:
        how = f"{SAME_NAME}, another grid"
    return how if old.kernel or new.kernel else how.replace(SAME_NAME, UNNAMED)


def _take(
    key: Callable[[Profile], Hashable],
    how: str,
    before: tuple[Diagnosed, ...],
    after: tuple[Diagnosed, ...],
    left: list[int],
    right: list[int],
    found: dict[int, tuple[int, str]],
) -> None:
    """Moves what `key` matches, in order, from `left` and `right` to `found`; a key of None matches nothing."""
    waiting: dict[Hashable, list[int]] = {}
    for j in right:
        waiting.setdefault(key(after[j][0]), []).append(j)
    for i in list(left):
        wanted = key(before[i][0])
        partners = waiting.get(wanted)
        if wanted is not None and partners:
            j = partners.pop(0)
            found[i] = (j, how)
            left.remove(i)
            right.remove(j)

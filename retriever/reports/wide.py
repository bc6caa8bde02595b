"""Rows of the raw page, kept as numbers: 2,238 metrics a launch would cost 150 bytes each as objects, 8 in an array."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from retriever.reports.names import names_for
from retriever.reports.profile import Metric
from retriever.reports.units import base_unit


@dataclass(frozen=True, slots=True)
class Columns:
    """The metric columns of one raw page, shared by its rows."""

    names: tuple[str, ...]
    """By column."""
    fields: tuple[int, ...]
    """Field number of each column in the row, from 0."""
    units: tuple[str, ...]
    """Base units."""
    factors: tuple[float, ...]
    """From the printed unit to the base unit."""
    aliases: tuple[tuple[str, ...], ...]
    """Every name a column is known by."""
    index: Mapping[str, int]
    """Every name a column is known by to its position; the first of equal names stands."""


def columns(header: list[str], units: list[str], skipped: frozenset[str]) -> Columns:
    """The metric columns of a header row: all but the `skipped` names."""
    padded = [*units, *[""] * (len(header) - len(units))]
    kept = [(at, name) for at, name in enumerate(header) if name and name not in skipped]
    names = tuple(name for _, name in kept)
    scales = [base_unit(padded[at]) for at, _ in kept]
    index: dict[str, int] = {}
    for position, name in enumerate(names):
        index.setdefault(name, position)
    aliases = tuple(names_for(name, index) for name in names)
    for name, others in zip(names, aliases):
        for other in others:
            index.setdefault(other, index[name])
    return Columns(
        names, tuple(at for at, _ in kept), tuple(unit for unit, _ in scales), tuple(factor for _, factor in scales), aliases, index
    )


class WideMetrics(Mapping[str, Metric]):
    """One row's metrics by name; a Metric is made when it is asked for."""

    __slots__ = ("_columns", "_line", "_values")

    def __init__(self, columns: Columns, values: array[float], line: int):
        """`values` (columns,) float64 in base units, NaN where the row has none."""
        self._columns = columns
        self._values = values
        self._line = line

    def __getitem__(self, name: str) -> Metric:
        position = self._columns.index[name]
        value = self._values[position]
        if math.isnan(value):
            raise KeyError(name)
        return Metric(value, self._columns.units[position], f"{self._line}:{self._columns.fields[position] + 1}")

    def __iter__(self) -> Iterator[str]:
        return (name for name, position in self._columns.index.items() if not math.isnan(self._values[position]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<{len(self)} metrics of line {self._line}>"

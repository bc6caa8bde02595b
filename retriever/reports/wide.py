"""Launches with all their metrics, kept as numbers: 2,238 metrics a launch would cost 150 bytes each as objects, 8 in an array."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from retriever.reports.names import metric_name, names_for
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
    rescaled: tuple[tuple[int, float], ...]
    """Position and factor to the base unit of the columns printed in another."""
    aliases: tuple[tuple[str, ...], ...]
    """Every name a column is known by."""
    index: Mapping[str, int]
    """Every name a column is known by to its position; the first of equal names stands."""


def columns(header: list[str], units: list[str], skipped: Callable[[str], bool]) -> Columns:
    """The metric columns of a header row: all but those whose name is `skipped`.

    A header of `--print-metric-name label` is translated as far as a label alone says which metric it is.
    """
    padded = [*units, *[""] * (len(header) - len(units))]
    kept = [(at, name) for at, name in enumerate(header) if name and not skipped(name)]
    scales = [base_unit(padded[at]) for at, _ in kept]
    names = tuple(metric_name("", name, unit) for (_, name), (unit, _) in zip(kept, scales))
    return named_columns(names, tuple(at for at, _ in kept), scales)


def named_columns(names: tuple[str, ...], fields: tuple[int, ...], scales: list[tuple[str, float]]) -> Columns:
    """Columns of metric names with their field numbers and `(base unit, factor)`."""
    index: dict[str, int] = {}
    for position, name in enumerate(names):
        index.setdefault(name, position)
    aliases = tuple(names_for(name, index) for name in names)
    for name, others in zip(names, aliases):
        for other in others:
            index.setdefault(other, index[name])
    units = tuple(unit for unit, _ in scales)
    rescaled = tuple((position, factor) for position, (_, factor) in enumerate(scales) if factor != 1)
    return Columns(names, fields, units, rescaled, aliases, index)


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

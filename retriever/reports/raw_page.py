"""The raw page as CSV: a header, a row of units, then a row a launch."""

from __future__ import annotations

import math
import re
from array import array

from retriever.reports.csv_rows import COUNT, NAME_COLUMNS, Fields, Row, is_identity
from retriever.reports.draft import Notes, capability, dimensions, triple, workload_kind
from retriever.reports.kernel_names import kernel_name
from retriever.reports.names import sections_shown
from retriever.reports.profile import Profile
from retriever.reports.units import PLAIN_NUMBER, NumberStyle, is_missing, scaled
from retriever.reports.wide import Columns, WideMetrics, columns


class RawPage:
    """A header, a row of units, then a row a launch."""

    def __init__(self, header: Row, style: NumberStyle, notes: Notes):
        self._fields = Fields(header.cells)
        self._cells = CellReader(style)
        self._notes = notes
        self._columns: Columns | None = None
        self._sections: tuple[str, ...] = ()
        self._profiles: list[Profile] = []

    def add(self, row: Row) -> None:
        """Takes the units row or one launch."""
        launch = self._names_launch(row)
        if self._columns is None:
            units = [] if launch else row.cells
            if any(units[: self._fields.at_first(NAME_COLUMNS)]):
                self._notes.add(row.line, "neither units nor a launch; skipped")
                return
            self._columns = columns(self._fields.names, units, is_identity)
            self._sections = sections_shown(self._columns.index)
            if units:
                return
            self._notes.add(row.line, "no units row under the header; values are taken as base units")
        if not launch:
            self._notes.add(row.line, "row without a kernel name skipped")
            return
        if shifted := self._fields.shifted(row.cells):
            self._notes.add(row.line, shifted)
            return
        if len(row.cells) < len(self._fields.names):
            self._notes.add(row.line, f'row cut after "{self._fields.names[len(row.cells) - 1]}"')
        self._profiles.append(self._launch(row, self._columns))

    def _names_launch(self, row: Row) -> bool:
        """A row with a name; one without is a launch only by its number, as a range or a summary can be."""
        at = self._fields.at_first(NAME_COLUMNS)
        named = at < len(row.cells) and bool(row.cells[at])
        return named or COUNT.fullmatch(self._cell(row, "ID")) is not None

    def finish(self) -> list[Profile]:
        """The launches read."""
        return self._profiles

    def _cell(self, row: Row, name: str) -> str:
        at = self._fields.at(name)
        return row.cells[at] if at < len(row.cells) else ""

    def _launch(self, row: Row, table: Columns) -> Profile:
        metrics, attributes, unavailable = self._cells.read(row, table)
        at = self._fields.at_first(NAME_COLUMNS)
        signature = row.cells[at] if at < len(row.cells) else ""
        name = kernel_name(signature)
        device, invocations = self._cell(row, "Device"), self._cell(row, "Invocations")
        return Profile(
            kernel=name,
            signature=signature if name != signature else "",
            grid=triple(self._cell(row, "Grid Size")) or dimensions(metrics, "launch__grid_dim"),
            block=triple(self._cell(row, "Block Size")) or dimensions(metrics, "launch__block_dim"),
            device=attributes.get("device__attribute_display_name") or (device if not device.isdigit() else None) or None,
            compute_capability=self._cell(row, "CC") or capability(metrics),
            metrics=metrics,
            unavailable=unavailable,
            sections=self._sections,
            attributes=attributes,
            launch_id=self._cell(row, "ID"),
            invocations=int(invocations) if COUNT.fullmatch(invocations) else 1,
            location=f"{row.line}:1",
            workload=workload_kind(self._cell(row, "Workload Type"), name),
            process_id=self._cell(row, "Process ID"),
            gpu_index=device if device.isdigit() else "",
        )


MEMO_CELLS = 200_000  # distinct cells remembered, about 20 MB; launches of one program repeat most of theirs

PLAIN_RUN = re.compile(rf"(?:{PLAIN_NUMBER}\n)*+")
"""Cells, each ended by a newline, that a file with a decimal point needs no rule to read. Nearly all of a row are, and converting a run
of them at once takes a third of the time."""


class CellReader:
    """Reads the metric cells of raw rows."""

    def __init__(self, style: NumberStyle):
        self._style = style
        self._memo: dict[tuple[str, bool], float | None] = {}
        """By cell and whether its column is a percentage, which decides how `12.345` is read in a file with decimal commas."""

    def read(self, row: Row, table: Columns) -> tuple[WideMetrics, dict[str, str], tuple[str, ...]]:
        """A row's numbers in base units, its words, and the names without a value."""
        values = array("d", [math.nan]) * len(table.names)
        attributes: dict[str, str] = {}
        unavailable: list[str] = []
        cells = [row.cells[at] for at in table.fields if at < len(row.cells)]
        text, start, position = "\n".join(cells) + "\n", 0, 0
        while position < len(cells):
            run = self._run(text, start)
            if run:
                numbers = array("d", map(float, run.replace(",", "").split()))
                values[position : position + len(numbers)] = numbers
                position, start = position + len(numbers), start + len(run)
                continue
            cell = cells[position]
            value = self._number(cell, table.units[position])
            if value is not None:
                values[position] = value
            elif is_missing(cell):
                unavailable += table.aliases[position]
            else:
                attributes[table.names[position]] = cell
            position, start = position + 1, start + len(cell) + 1
        for position, factor in table.rescaled:
            values[position] = scaled(values[position], factor)
        return WideMetrics(table, values, row.line), attributes, tuple(unavailable)

    def _run(self, text: str, start: int) -> str:
        """The plain numbers from `start` on."""
        found = PLAIN_RUN.match(text, start) if self._style.decimal == "." else None
        return found[0] if found else ""

    def _number(self, cell: str, unit: str) -> float | None:
        key = (cell, unit == "%")
        if key not in self._memo:
            if len(self._memo) >= MEMO_CELLS:
                self._memo.clear()
            self._memo[key] = self._style.number(cell, unit)
        return self._memo[key]

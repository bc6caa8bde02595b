"""The CSV pages of Nsight Compute: raw (one row a launch) and details (one row a metric)."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter

from indexer.errors import InputError
from retriever.reports.csv_rows import Fields, Row, page_of, rows
from retriever.reports.draft import SEVERITIES, Draft, Notes, capability, dimensions, kernel_name, triple
from retriever.reports.names import metric_name, section_id, sections_shown
from retriever.reports.profile import Profile, RuleMessage
from retriever.reports.source import TextSource
from retriever.reports.units import NumberStyle, base_unit, is_missing, number_style, scaled
from retriever.reports.wide import Columns, WideMetrics, columns

IDENTITY = frozenset(
    [
        *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream"),
        *("Block Size", "Grid Size", "Device", "CC", "Invocations"),
    ]
)
"""Columns that say which launch a row is about."""

COUNT = re.compile(r"\d{1,15}")
STYLE_SAMPLE_ROWS = 4000  # rows of a page read for the number style; beyond it a file without one telling number is not worth a pass


def read_csv(source: TextSource, first: int) -> tuple[tuple[Profile, ...], tuple[str, ...]]:
    """Profiles and notes of every raw and details page from line `first` on, in order.

    Raises:
        InputError: the file holds a source page, which has no metrics of a launch.
    """
    style = number_style(_value_cells(source, first))
    notes = Notes()
    profiles: list[Profile] = []
    page: RawPage | DetailsPage | None = None
    for row in rows(source, first):
        if row.is_header:
            profiles += page.finish() if page else ()
            page = _page(source.name, row, style, notes)
        elif page:
            page.add(row)
    profiles += page.finish() if page else ()
    return tuple(profiles), notes.finish(style.note)


def _page(name: str, header: Row, style: NumberStyle, notes: Notes) -> RawPage | DetailsPage:
    kind = page_of(header.cells)
    if kind == "csv-source":
        raise InputError(
            f"{name}:{header.line}: a source page (--page source), which holds lines of code instead of a launch's metrics; "
            "export the raw page: ncu --import REPORT.ncu-rep --page raw --csv > REPORT.csv"
        )
    return RawPage(header, style, notes) if kind == "csv-raw" else DetailsPage(header, style, notes)


def _value_cells(source: TextSource, first: int) -> Iterator[str]:
    """The cells that hold metric values, for finding out the number style."""
    fields: list[int] = []
    for row in islice(rows(source, first), STYLE_SAMPLE_ROWS):
        if row.is_header:
            raw = page_of(row.cells) == "csv-raw"
            fields = [at for at, name in enumerate(row.cells) if (name not in IDENTITY if raw else name in VALUE_COLUMNS)]
        else:
            yield from (row.cells[at] for at in fields if at < len(row.cells))


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
        kernel = self._cell(row, "Kernel Name")
        if self._columns is None:
            units = [] if kernel else row.cells
            if any(units[: self._fields.at("Kernel Name")]):
                self._notes.add(row.line, "neither units nor a launch; skipped")
                return
            self._columns = columns(self._fields.names, units, IDENTITY)
            self._sections = sections_shown(self._columns.index)
            if units:
                return
            self._notes.add(row.line, "no units row under the header; values are taken as base units")
        if not kernel:
            self._notes.add(row.line, "row without a kernel name skipped")
            return
        if len(row.cells) < len(self._fields.names):
            self._notes.add(row.line, f'row cut after "{self._fields.names[len(row.cells) - 1]}"')
        self._profiles.append(self._launch(row, self._columns))

    def finish(self) -> list[Profile]:
        """The launches read."""
        return self._profiles

    def _cell(self, row: Row, name: str) -> str:
        at = self._fields.at(name)
        return row.cells[at] if at < len(row.cells) else ""

    def _launch(self, row: Row, table: Columns) -> Profile:
        metrics, attributes, unavailable = self._cells.read(row, table)
        signature = self._cell(row, "Kernel Name")
        name = kernel_name(signature)
        device = self._cell(row, "Device")
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
            location=f"{row.line}:1",
        )


UNREAD = object()  # tells a cell not seen yet from one without a number
MEMO_CELLS = 200_000  # distinct cells remembered, about 20 MB; launches of one program repeat most of theirs


class CellReader:
    """Reads the metric cells of raw rows, each distinct text once."""

    def __init__(self, style: NumberStyle):
        self._style = style
        self._memos: dict[bool, dict[str, float | None]] = {False: {}, True: {}}
        """By whether the column is a percentage, which decides how `12.345` is read in a file with decimal commas."""

    def read(self, row: Row, table: Columns) -> tuple[WideMetrics, dict[str, str], tuple[str, ...]]:
        """A row's numbers in base units, its words, and the names without a value."""
        values = array("d", [math.nan]) * len(table.names)
        attributes: dict[str, str] = {}
        unavailable: list[str] = []
        cells = row.cells[: table.fields[-1] + 1] if table.fields else []
        memos = [self._memos[unit == "%"] for unit in table.units]
        for position, at in enumerate(table.fields):
            if at >= len(cells):
                break
            cell = cells[at]
            value = memos[position].get(cell, UNREAD)
            if value is UNREAD:
                value = self._number(cell, table.units[position])
            if value is not None:
                values[position] = scaled(value, table.factors[position])
            elif is_missing(cell):
                unavailable += table.aliases[position]
            else:
                attributes[table.names[position]] = cell
        return WideMetrics(table, values, row.line), attributes, tuple(unavailable)

    def _number(self, cell: str, unit: str) -> float | None:
        memo = self._memos[unit == "%"]
        if len(memo) >= MEMO_CELLS:
            memo.clear()
        memo[cell] = self._style.number(cell, unit)
        return memo[cell]


VALUE_COLUMNS = ("Metric Value", "Average")
"""Where a row's value stands; the second with `--print-summary`."""


LAUNCH_KEY = ("Process ID", "ID", "Kernel Name", "Grid Size", "Block Size", "Device")
"""What tells launches apart; a summary has no ID."""


class DetailsPage:
    """One row for each metric of a section, and rows of rules between them."""

    def __init__(self, header: Row, style: NumberStyle, notes: Notes):
        fields = self._fields = Fields(header.cells)
        self._value = next((fields.at(name) for name in VALUE_COLUMNS if name in fields), None)
        self._kernel, self._rule_name, self._label = (fields.at(name) for name in ("Kernel Name", "Rule Name", "Metric Name"))
        self._unit, self._section = fields.at("Metric Unit"), fields.at("Section Name")
        self._identity = itemgetter(*(fields.at(name) for name in LAUNCH_KEY))
        self._style = style
        self._notes = notes
        self._drafts: dict[tuple[str, ...], Draft] = {}
        self._earlier = "CC" not in fields

    def add(self, row: Row) -> None:
        """Takes one metric or one rule."""
        cells = self._fields.padded(row.cells)
        kernel, label = cells[self._kernel], cells[self._label]
        if not kernel:
            self._notes.add(row.line, "row without a kernel name skipped")
        elif cells[self._rule_name] and not row.cut:
            self._rule(row.line, cells)
        elif self._value is None or len(row.cells) <= self._value:
            self._notes.add(row.line, f'row cut after "{label or kernel}"')
        elif label:
            self._metric(row.line, cells, label, self._value)

    def finish(self) -> list[Profile]:
        """The launches read, by their number where rows carry one."""
        drafts = list(self._drafts.values())
        if all(COUNT.fullmatch(draft.launch_id) for draft in drafts):
            drafts.sort(key=lambda draft: int(draft.launch_id))
        return [draft.finish() for draft in drafts]

    def _metric(self, line: int, cells: list[str], label: str, at: int) -> None:
        section, unit = section_id(cells[self._section]), cells[self._unit]
        name = metric_name(section, label, base_unit(unit)[0], self._earlier)
        self._draft(line, cells, section).add(name, cells[at], unit, f"{line}:{at + 1}", self._style)

    def _rule(self, line: int, cells: list[str]) -> None:
        kind, text = cells[self._fields.at("Rule Type")], cells[self._fields.at("Rule Description")]
        speedup = self._style.number(cells[self._fields.at("Estimated Speedup")], "%")
        scope = cells[self._fields.at("Estimated Speedup Type")].lower() if speedup is not None else ""
        severity, location = SEVERITIES.get(kind.upper(), kind), f"{line}:{self._rule_name + 1}"
        draft = self._draft(line, cells, section_id(cells[self._section]))
        draft.add_rule(RuleMessage(cells[self._rule_name], severity, text, speedup, location, scope))

    def _draft(self, line: int, cells: list[str], section: str) -> Draft:
        """The launch that a row is about, with its section noted."""
        key = self._identity(cells)
        draft = self._drafts.get(key)
        if draft is None:
            draft = self._drafts[key] = _new_draft(line, key, cells[self._fields.at("CC")], cells[self._fields.at("Invocations")])
        draft.sections.setdefault(section)
        return draft


def _new_draft(line: int, key: tuple[str, ...], capability: str, invocations: str) -> Draft:
    _, launch_id, signature, grid, block, device = key
    return Draft(
        signature,
        f"{line}:1",
        grid=triple(grid),
        block=triple(block),
        device=device if device and not device.isdigit() else None,
        compute_capability=capability or None,
        launch_id=launch_id,
        invocations=int(invocations) if COUNT.fullmatch(invocations) else 1,
    )

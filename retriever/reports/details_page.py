"""The details page as CSV: one row for each metric of a section, and rows of rules between them."""

from __future__ import annotations

from operator import itemgetter

from retriever.reports.csv_rows import COUNT, NAME_COLUMNS, VALUE_COLUMNS, Fields, Row
from retriever.reports.draft import SEVERITIES, Draft, Notes, triple, workload_kind
from retriever.reports.names import metric_name, section_id
from retriever.reports.profile import Profile, RuleMessage
from retriever.reports.units import NumberStyle, base_unit

LAUNCH_KEY = ("Process ID", "ID", "Grid Size", "Block Size", "Device", "Workload Type")
"""What tells launches apart besides their name; a summary has no ID."""


class DetailsPage:
    """One row for each metric of a section, and rows of rules between them."""

    def __init__(self, header: Row, style: NumberStyle, notes: Notes):
        fields = self._fields = Fields(header.cells)
        self._value = next((fields.at(name) for name in VALUE_COLUMNS if name in fields), None)
        self._rule_name, self._label, self._kernel = fields.at("Rule Name"), fields.at("Metric Name"), fields.at_first(NAME_COLUMNS)
        self._nameless = self._kernel == len(fields.names)
        self._unit, self._section, self._body = (fields.at(name) for name in ("Metric Unit", "Section Name", "Body Item Label"))
        self._identity = itemgetter(self._kernel, *(fields.at(name) for name in LAUNCH_KEY))
        self._style = style
        self._notes = notes
        self._drafts: dict[tuple[str, ...], Draft] = {}
        self._earlier = "CC" not in fields
        self._other_table = 0
        """Width of a table inside the page that has columns of its own, as the one of NUMA affinities; 0 outside of one."""

    def add(self, row: Row) -> None:
        """Takes one metric or one rule."""
        if shifted := self._fields.shifted(row.cells):
            self._notes.add(row.line, shifted)
            return
        cells = self._fields.padded(row.cells)
        kernel, label = cells[self._kernel], cells[self._label]
        if self._is_of_another_table(row, cells[self._fields.at("ID")]):
            return
        if not (kernel or self._nameless or COUNT.fullmatch(cells[self._fields.at("ID")])):
            self._notes.add(row.line, "row without a kernel name skipped")
        elif cells[self._rule_name] and not row.cut:
            self._rule(row.line, cells)
        elif self._value is None or len(row.cells) <= self._value:
            self._notes.add(row.line, f'row cut after "{label or kernel}"')
        elif label:
            self._metric(row.line, cells, label, self._value)

    def _is_of_another_table(self, row: Row, number: str) -> bool:
        """Whether a row heads a table with columns of its own, or stands in one: it is short, and its first cell is no launch number."""
        short = not row.cut and self._value is not None and len(row.cells) <= self._value
        if short and "ID" in self._fields and not COUNT.fullmatch(number):
            self._other_table = len(row.cells)
        elif not short or len(row.cells) != self._other_table:
            self._other_table = 0
        return self._other_table > 0

    def finish(self) -> list[Profile]:
        """The launches read, process after process, by their number where rows carry one."""
        drafts = list(self._drafts.values())
        if all(COUNT.fullmatch(draft.launch_id) for draft in drafts):
            processes = list(dict.fromkeys(draft.process_id for draft in drafts))
            drafts.sort(key=lambda draft: (processes.index(draft.process_id), int(draft.launch_id)))
        for draft in drafts:
            draft.add_stated(self._style)
        return [draft.finish() for draft in drafts]

    def _metric(self, line: int, cells: list[str], label: str, at: int) -> None:
        section, unit = section_id(cells[self._section]), cells[self._unit]
        name = metric_name(section, label, base_unit(unit)[0], self._earlier, cells[self._body])
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
    signature, process_id, launch_id, grid, block, device, workload = key
    return Draft(
        signature,
        f"{line}:1",
        grid=triple(grid),
        block=triple(block),
        device=device if device and not device.isdigit() else None,
        compute_capability=capability or None,
        launch_id=launch_id,
        invocations=int(invocations) if COUNT.fullmatch(invocations) else 1,
        workload=workload_kind(workload, signature),
        process_id=process_id,
        gpu_index=device if device.isdigit() else "",
    )

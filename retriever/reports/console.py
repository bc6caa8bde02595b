"""Console reports of Nsight Compute (the details page as text), 2019 to now, as printed or as people paste them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retriever.reports.body_labels import EACH
from retriever.reports.console_events import Event, Launch, Rule, Section, Table, TableRow
from retriever.reports.console_reader import events, first_line
from retriever.reports.console_rows import is_known, trusted
from retriever.reports.draft import Draft, Notes, workload_kind
from retriever.reports.kernel_names import kernel_name
from retriever.reports.names import metric_name, section_id
from retriever.reports.profile import Profile, ProfilesAndNotes, RuleMessage
from retriever.reports.rule_sentences import section_of_rule
from retriever.reports.source import TextSource
from retriever.reports.units import NumberStyle, base_unit, is_missing, number_style, own_style, reads_two_ways, scaled

WHOLE_NUMBERS = frozenset(
    (
        *("Grid Size", "Block Size", "Threads", "Elapsed Cycles", "Executed Instructions", "Issued Instructions", "Branch Instructions"),
        *(f"Total {unit} Elapsed Cycles" for unit in ("SM", "SMSP", "L1", "L2", "DRAM")),
    )
)
"""Labels whose values have no decimals, so that a separator in them groups digits."""
CHARTS = "_"
"""In the identifiers of charts and tables that belong to another section, as `MemoryWorkloadAnalysis_Tables`; they repeat labels."""
_ONE_GROUP = re.compile(r"\d{1,3}[.,]\d{3}")


def _as_evidence(row: TableRow) -> str:
    """A row's cell as evidence of how the file writes numbers; `1.056` blocks are as telling as `1.056.056`."""
    if row.label in WHOLE_NUMBERS and base_unit(row.unit)[1] == 1 and _ONE_GROUP.fullmatch(row.cell):
        return row.cell + row.cell[-4:]
    return row.cell


def read_console(source: TextSource, first: int) -> ProfilesAndNotes:
    """Profiles and notes of the console text from line `first` on; each kernel line begins a profile.

    Rows and rules above `first` that lost their kernel line count too, as a launch without a name. How numbers were read is a note only
    where they are not written as in English, or one could be read two ways.
    """
    first = first_line(source, first)
    style = number_style(_as_evidence(event) for event in events(source, first) if isinstance(event, TableRow))
    builder, doubtful = _Builder(style), not style.plain
    for launch in _launches(events(source, first)):
        rows = [event for event in launch if isinstance(event, TableRow)]
        doubtful = doubtful or any(reads_two_ways(_as_evidence(row), row.unit) for row in rows)
        builder.take_launch(launch, own_style(map(_as_evidence, rows), style))
    return builder.profiles(), (*((style.note,) if doubtful else ()), *builder.notes.finish())


def _launches(found: Iterator[Event]) -> Iterator[list[Event]]:
    """Each launch with what stands below it; first what stands above them all."""
    held: list[Event] = []
    for event in found:
        if isinstance(event, Launch) and held:
            yield held
            held = []
        held.append(event)
    if held:
        yield held


class _Builder:
    """Puts events under the launch and section they stand in."""

    def __init__(self, style: NumberStyle):
        self.drafts: list[Draft] = []
        self.notes = Notes()
        self._style = style
        self._section = self._table = ""
        self._earlier = False
        self._again = False
        """True inside a section that this launch has had before."""
        self._lines: dict[str, int] = {}
        """Line by metric of this section's own table; its first metric once more begins a table whose heading is lost."""
        self._same: list[tuple[str, TableRow, str]] = []
        """Rows of a section that came again in which nothing differs from this launch: metric, row and unit."""

    def take_launch(self, launch: list[Event], style: NumberStyle) -> None:
        """Takes one launch, which writes numbers in its own way, with the metrics that only the sentences of its rules state."""
        if style.decimal != self._style.decimal:
            self.notes.add(launch[0].line, f"from here on {style.note}")
        self._style, begun = style, len(self.drafts)
        for event in launch:
            self.take(event)
        for draft in self.drafts[begun:]:
            draft.add_stated(style)

    def take(self, event: Event) -> None:
        if isinstance(event, TableRow):
            self._row(event)
        elif isinstance(event, Rule):
            self._rule(event)
        elif isinstance(event, Table):
            self._table = event.name
        elif isinstance(event, Section):
            self._section, self._table = section_id(event.name), ""
            self._lines, self._same = {}, []
            sections = self._draft(event.line).sections
            self._again = self._section in sections
            sections.setdefault(self._section)
        elif isinstance(event, Launch):
            self._launch(event)
        else:
            self.notes.add(event.line, event.text)

    def profiles(self) -> tuple[Profile, ...]:
        """The launches read."""
        return tuple(draft.finish() for draft in self.drafts)

    def _launch(self, event: Launch) -> None:
        self._section, self._table, self._earlier, self._again = "", "", event.earlier, False
        self._lines, self._same = {}, []
        draft = Draft(event.signature, f"{event.line}:1", event.grid, event.block)
        draft.compute_capability, draft.invocations = event.compute_capability, event.invocations
        draft.process_id, draft.gpu_index = event.process_id, event.gpu_index
        draft.workload = workload_kind("", kernel_name(event.signature))
        self.drafts.append(draft)

    def _draft(self, line: int) -> Draft:
        if not self.drafts:
            self.notes.add(line, "a section before any kernel line; its kernel has no name here")
            self.drafts.append(Draft("", f"{line}:1"))
        return self.drafts[-1]

    def _row(self, event: TableRow) -> None:
        # ncu prints two decimals or none: without two, the end of the text may have taken digits
        if event.open and not re.search(rf"{re.escape(self._style.decimal)}\d\d$", event.cell):
            self.notes.add(event.line, f'row cut after "{event.label}"')
            return
        fits, unit = (True, event.unit) if event.framed else trusted(self._section, event.label, event.unit, event.cell.strip("0.,") == "")
        if not fits and not is_missing(event.cell):
            what = f'unit "{unit}" does not fit' if unit else "no unit, so its scale is not known"
            self.notes.add(event.line, f'"{event.label}" left out: {what}')
            return
        name = metric_name(self._section, event.label, base_unit(unit)[0], self._earlier, self._table)
        if event.framed and name.endswith(f"/{event.label}") and is_known(event.label):
            self.notes.add(event.line, f'"{event.label}" left out: it belongs to another section, whose heading is lost')
            return
        draft = self._draft(event.line)
        own_table = not self._table and CHARTS not in self._section
        if own_table and name == next(iter(self._lines), None) and not name.endswith(EACH):
            self._again, self._lines, self._same = True, {}, []
        if self._differs(draft, name, event.cell, unit):
            if self._again:
                draft = self._next_unnamed(event.line)
            elif own_table and name in self._lines:
                self.notes.add(event.line, f'"{event.label}" left out: line {self._lines[name]} has another value of the same launch')
        elif self._again:
            self._same.append((name, event, unit))
        if own_table:
            self._lines.setdefault(name, event.line)
        draft.add(name, event.cell, unit, f"{event.line}:{event.column}", self._style)

    def _differs(self, draft: Draft, name: str, cell: str, unit: str) -> bool:
        before = draft.metrics.get(name)
        if before is None:
            return False
        base, factor = base_unit(unit)
        value = self._style.number(cell, base)
        return value is not None and before.value != scaled(value, factor)

    def _next_unnamed(self, line: int) -> Draft:
        """The launch of a section that comes again with other values: its kernel line is lost.

        The rows before the first that differs are its own too; metrics that only they gave are taken back from the launch before.
        """
        line = self._same[0][1].line if self._same else line
        self.notes.add(
            line,
            f"{f'section {self._section}' if self._section else 'a table'} comes again with other values, so another launch begins here; "
            "its kernel has no name",
        )
        draft, before = Draft("", f"{line}:1", sections={self._section: None}), self.drafts[-1]
        for name, row, unit in self._same:
            place = f"{row.line}:{row.column}"
            draft.add(name, row.cell, unit, place, self._style)
            if name in before.metrics and before.metrics[name].location == place:
                del before.metrics[name]
        self.drafts.append(draft)
        self._again, self._same = False, []
        return draft

    def _rule(self, event: Rule) -> None:
        speedup = self._style.number(event.speedup, "%") if event.speedup else None
        section = self._section or section_of_rule(event.text) or ""
        message = RuleMessage(section, event.severity, event.text, speedup, f"{event.line}:1", event.scope)
        self._draft(event.line).add_rule(message)

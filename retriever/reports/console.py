"""Console reports of Nsight Compute (the details page as text), 2019 to now, as printed or as people paste them."""

from __future__ import annotations

import re

from retriever.reports.console_events import Launch, Remark, Rule, Section, Table, TableRow
from retriever.reports.console_reader import events, first_line
from retriever.reports.console_rows import is_known, trusted
from retriever.reports.draft import Draft, Notes, workload_kind
from retriever.reports.kernel_names import kernel_name
from retriever.reports.names import metric_name, section_id
from retriever.reports.profile import Profile, ProfilesAndNotes, RuleMessage
from retriever.reports.rule_sentences import section_of_rule
from retriever.reports.source import TextSource
from retriever.reports.units import NumberStyle, base_unit, is_missing, number_style, scaled

WHOLE_NUMBERS = frozenset(
    (
        *("Grid Size", "Block Size", "Threads", "Elapsed Cycles", "Executed Instructions", "Issued Instructions", "Branch Instructions"),
        *(f"Total {unit} Elapsed Cycles" for unit in ("SM", "SMSP", "L1", "L2", "DRAM")),
    )
)
"""Labels whose values have no decimals, so that a separator in them groups digits."""
_ONE_GROUP = re.compile(r"\d{1,3}[.,]\d{3}")


def _as_evidence(row: TableRow) -> str:
    """A row's cell as evidence of how the file writes numbers; `1.056` blocks are as telling as `1.056.056`."""
    if row.label in WHOLE_NUMBERS and base_unit(row.unit)[1] == 1 and _ONE_GROUP.fullmatch(row.cell):
        return row.cell + row.cell[-4:]
    return row.cell


def read_console(source: TextSource, first: int) -> ProfilesAndNotes:
    """Profiles and notes of the console text from line `first` on; each kernel line begins a profile.

    Rows and rules above `first` that lost their kernel line count too, as a launch without a name.
    """
    first = first_line(source, first)
    style = number_style(_as_evidence(event) for event in events(source, first) if isinstance(event, TableRow))
    builder = _Builder(style)
    for event in events(source, first):
        builder.take(event)
    return builder.profiles(), (style.note, *builder.notes.finish())


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

    def take(self, event: Launch | Section | Table | TableRow | Rule | Remark) -> None:
        if isinstance(event, TableRow):
            self._row(event)
        elif isinstance(event, Rule):
            self._rule(event)
        elif isinstance(event, Table):
            self._table = event.name
        elif isinstance(event, Section):
            self._section, self._table = section_id(event.name), ""
            sections = self._draft(event.line).sections
            self._again = self._section in sections
            sections.setdefault(self._section)
        elif isinstance(event, Launch):
            self._launch(event)
        else:
            self.notes.add(event.line, event.text)

    def profiles(self) -> tuple[Profile, ...]:
        """The launches read, each with the metrics that only the sentences of its rules state."""
        for draft in self.drafts:
            draft.add_stated(self._style)
        return tuple(draft.finish() for draft in self.drafts)

    def _launch(self, event: Launch) -> None:
        self._section, self._table, self._earlier, self._again = "", "", event.earlier, False
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
        if self._again and self._differs(draft, name, event.cell, unit):
            draft = self._next_unnamed(event.line)
        draft.add(name, event.cell, unit, f"{event.line}:{event.column}", self._style)

    def _differs(self, draft: Draft, name: str, cell: str, unit: str) -> bool:
        base, factor = base_unit(unit)
        value, before = self._style.number(cell, base), draft.metrics.get(name)
        return value is not None and before is not None and before.value != scaled(value, factor)

    def _next_unnamed(self, line: int) -> Draft:
        """The launch of a section that comes again with other values: its kernel line is lost."""
        self.notes.add(
            line, f"section {self._section} comes again with other values, so another launch begins here; its kernel has no name"
        )
        self.drafts.append(Draft("", f"{line}:1", sections={self._section: None}))
        self._again = False
        return self.drafts[-1]

    def _rule(self, event: Rule) -> None:
        speedup = self._style.number(event.speedup, "%") if event.speedup else None
        section = self._section or section_of_rule(event.text) or ""
        message = RuleMessage(section, event.severity, event.text, speedup, f"{event.line}:1", event.scope)
        self._draft(event.line).add_rule(message)

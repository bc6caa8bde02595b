"""Console reports of Nsight Compute (the details page as text), 2019 to now."""

from __future__ import annotations

from retriever.reports.console_events import Launch, Remark, Rule, Section, TableRow, events
from retriever.reports.draft import Draft, Notes
from retriever.reports.names import metric_name, section_id
from retriever.reports.profile import Profile, RuleMessage
from retriever.reports.source import TextSource
from retriever.reports.units import NumberStyle, base_unit, number_style


def read_console(source: TextSource, first: int) -> tuple[tuple[Profile, ...], tuple[str, ...]]:
    """Profiles and notes of the console text from line `first` on; each kernel line begins a profile."""
    style = number_style(event.cell for event in events(source, first) if isinstance(event, TableRow))
    builder = _Builder(style)
    for event in events(source, first):
        builder.take(event)
    return tuple(draft.finish() for draft in builder.drafts), builder.notes.finish(style.note)


class _Builder:
    """Puts events under the launch and section they stand in."""

    def __init__(self, style: NumberStyle):
        self.drafts: list[Draft] = []
        self.notes = Notes()
        self._style = style
        self._section = ""
        self._earlier = False

    def take(self, event: Launch | Section | TableRow | Rule | Remark) -> None:
        if isinstance(event, TableRow):
            self._row(event)
        elif isinstance(event, Rule):
            self._rule(event)
        elif isinstance(event, Section):
            self._section = section_id(event.name)
            self._draft(event.line).sections.setdefault(self._section)
        elif isinstance(event, Launch):
            self._launch(event)
        else:
            self.notes.add(event.line, event.text)

    def _launch(self, event: Launch) -> None:
        self._section, self._earlier = "", event.earlier
        draft = Draft(event.signature, f"{event.line}:1", event.grid, event.block)
        draft.compute_capability, draft.invocations = event.compute_capability, event.invocations
        self.drafts.append(draft)

    def _draft(self, line: int) -> Draft:
        if not self.drafts:
            self.notes.add(line, "a section before any kernel line; its kernel has no name here")
            self.drafts.append(Draft("", f"{line}:1"))
        return self.drafts[-1]

    def _row(self, event: TableRow) -> None:
        name = metric_name(self._section, event.label, base_unit(event.unit)[0], self._earlier)
        self._draft(event.line).add(name, event.cell, event.unit, f"{event.line}:{event.column}", self._style)

    def _rule(self, event: Rule) -> None:
        speedup = self._style.number(event.speedup, "%") if event.speedup else None
        message = RuleMessage(self._section, event.severity, event.text, speedup, f"{event.line}:1", event.scope)
        self._draft(event.line).add_rule(message)

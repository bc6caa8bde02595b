"""What `ptxas -v` says of each kernel, in whatever build log: registers, spills, stack, shared memory, advisories."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from retriever.reports.kernel_names import instance_name, kernel_name, readable
from retriever.reports.profile import Metric, Profile, ProfilesAndNotes, RuleMessage
from retriever.reports.source import TextSource
from retriever.reports.weak_form import FORM, capability_of

_ENTRY = re.compile(r"Compiling entry function '(.+)' for '(sm_\w+)'")
_OWNER = re.compile(r"Function properties for '?(.+?)'?\s*$")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_ADVISORY = re.compile(r"\((C75\d\d)\) (.*?in (?:the )?function '(.+?)'.*)")
_SERIALIZED = "instructions are serialized"
_BUILD = re.compile(r"ptxas (?:info|warning)\s*: (?:\(C75\d\d\)|Compiling entry function)")

RESOURCES = (
    ("launch__registers_per_thread", "register/thread", _USED),
    ("launch__shared_mem_per_block_static", "byte/block", re.compile(r"(\d+)(?:\+\d+)? bytes smem")),
    ("ptxas__barriers", "", re.compile(r"used (\d+) barriers")),
    ("ptxas__constant_bytes", "byte", re.compile(r"(\d+)(?:\+\d+)? bytes cmem\[0\]")),
)
"""Metric, unit, and where the line that begins with `Used` has it; what it does not name is zero, except constants."""


@dataclass(slots=True)
class _Entry:
    """One kernel for one architecture while its lines are read."""

    name: str
    arch: str
    line: int
    metrics: dict[str, Metric] = field(default_factory=dict)
    rules: list[RuleMessage] = field(default_factory=list)

    def keep(self, name: str, value: float, unit: str, line: int) -> None:
        self.metrics.setdefault(name, Metric(float(value), unit, f"{line}:1"))

    def finish(self) -> Profile:
        serialized = [rule for rule in self.rules if _SERIALIZED in rule.text]
        if serialized:
            self.metrics["ptxas__wgmma_serialized"] = Metric(1.0, "", serialized[0].location)
        return Profile(
            kernel=kernel_name(instance_name(self.name)).removeprefix("void "),
            signature=self.name,
            compute_capability=capability_of(self.arch),
            metrics=self.metrics,
            rules=tuple(self.rules),
            attributes={FORM: "ptxas -v", "ptxas__target": self.arch},
            location=f"{self.line}:1",
        )


def begins(line: str) -> bool:
    """Whether ptxas speaks of a kernel on this line."""
    return _BUILD.search(line) is not None


def read_ptxas(source: TextSource, first: int) -> ProfilesAndNotes:
    """One profile for each kernel and architecture, in the log's order, and notes."""
    entries: list[_Entry] = []
    waiting: dict[str, list[RuleMessage]] = {}
    owner = ""
    called: dict[str, int] = {}
    for number, line in source.lines(first):
        if match := _ENTRY.search(line):
            entries.append(_Entry(match[1], match[2], number, rules=waiting.pop(match[1], [])))
            owner = match[1]
        elif match := _ADVISORY.search(line):
            waiting.setdefault(match[3], []).append(RuleMessage(match[1], "WRN", match[2].strip(), location=f"{number}:1"))
        elif match := _OWNER.search(line):
            owner = match[1]
        elif entries and (match := _FRAME.search(line)):
            if owner == entries[-1].name:
                for name, value in zip(("ptxas__stack_bytes", "ptxas__spill_store_bytes", "ptxas__spill_load_bytes"), match.groups()):
                    entries[-1].keep(name, int(value), "byte", number)
            elif int(match[2]) + int(match[3]):
                called[owner] = number
        elif entries and _USED.search(line):
            _used(entries[-1], line, number)
    _advise_late(entries, waiting)
    notes = [f"line {line}: {readable(name)} is called by kernels and spills registers of its own" for name, line in called.items()]
    return tuple(entry.finish() for entry in entries), tuple(notes)


def _used(entry: _Entry, line: str, number: int) -> None:
    for name, unit, pattern in RESOURCES:
        match = pattern.search(line)
        if match or name.startswith("launch__"):
            entry.keep(name, int(match[1]) if match else 0, unit, number)


def _advise_late(entries: list[_Entry], waiting: dict[str, list[RuleMessage]]) -> None:
    """Advisories that no entry line followed belong to the last compilation of that name."""
    for name, rules in waiting.items():
        for entry in [entry for entry in entries if entry.name == name][-1:]:
            entry.rules.extend(rules)

"""The raw page as Nsight Compute's window exports it: a metric a line, `gpu__time_duration.sum [us],296.74`.

Seen in a public file of a B200, November 2025: `ID,0`, lines that say which launch it is (`Function Name,...`, `Block Size [block],...`),
then a metric a line with its unit in brackets. Behind a total stands how many instances it has (`865 {456}`); where an instance count
stands alone there is no total. Assumed, since one launch was seen: launches beside each other have a column each, or a page each.
"""

from __future__ import annotations

import re

from retriever.reports.csv_rows import COUNT, delimiter_of, split
from retriever.reports.draft import Draft, triple, workload_kind
from retriever.reports.kernel_names import kernel_name
from retriever.reports.profile import Profile, ProfilesAndNotes
from retriever.reports.source import TextSource
from retriever.reports.units import NumberStyle, number_style

NAMES = ("Original Demangled Name", "Function Name", "Demangled Name", "Mangled Name")
"""Lines with the kernel's name, the most telling first; the window shortens the demangled one."""

_ID = re.compile(r"\ufeff?\s*\"?ID\"?(?:[,;\t]\s*\"?\d{1,15}\"?)+[,;\t\s]*")
_WITH_UNIT = re.compile(r"(.*\S)\s+\[([^\[\]]*)\]")
_INSTANCES = re.compile(r"\s*\{\d+\}$")
"""How many instances a metric has, behind its total or alone."""
_PROCESS = re.compile(r"\[(\d{1,10})\]")

Line = tuple[int, list[str]]
"""Number and cells of a line."""


def begins(line: str) -> bool:
    """Whether a line is the first of such a page: `ID` and a number for each launch."""
    return _ID.fullmatch(line) is not None


def read_vertical(source: TextSource, first: int) -> ProfilesAndNotes:
    """Profiles and notes of every page from line `first` on, which begins one; a launch without a metric is none."""
    pages: list[list[Line]] = []
    delimiter = ","
    for number, line in source.lines(first):
        if begins(line):
            delimiter = delimiter_of(line)
            pages.append([])
        cells = split(line, delimiter)
        if len(cells) > 1 and cells[0]:
            pages[-1].append((number, cells))
    style = number_style(_INSTANCES.sub("", cell) for page in pages for _, cells in page for cell in cells[1:])
    launches = [(page, at) for page in pages for at in range(1, len(page[0][1])) if page[0][1][at]]
    profiles = (_launch(page, at, style) for page, at in launches)
    return tuple(profile for profile in profiles if profile.metrics), (style.note,)


def _launch(page: list[Line], at: int, style: NumberStyle) -> Profile:
    """The launch in column `at`."""
    draft = _identified(page, at)
    for number, cells in page:
        name, unit = _name_and_unit(cells[0])
        total = _INSTANCES.sub("", cells[at]) if at < len(cells) else ""
        if "_" in name and " " not in name and total:
            draft.add(name, total, unit, f"{number}:{at + 1}", style)
    return draft.finish()


def _name_and_unit(cell: str) -> tuple[str, str]:
    found = _WITH_UNIT.fullmatch(cell)
    return (found[1], found[2]) if found else (cell, "")


def _identified(page: list[Line], at: int) -> Draft:
    """The launch in column `at`, without its metrics."""
    said = {_name_and_unit(cells[0])[0]: cells[at] for _, cells in reversed(page) if at < len(cells)}
    signature = next((said[name] for name in NAMES if said.get(name)), "")
    process = _PROCESS.match(said.get("Process", ""))
    return Draft(
        signature,
        f"{page[0][0]}:{at + 1}",
        grid=triple(said.get("Grid Size", "")),
        block=triple(said.get("Block Size", "")),
        device=said.get("Device Name") or None,
        launch_id=said["ID"] if COUNT.fullmatch(said["ID"]) else "",
        workload=workload_kind("", kernel_name(signature)),
        process_id=process[1] if process else "",
    )

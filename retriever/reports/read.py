"""Any text report of Nsight Compute to a Report; the layout is found in the text, never by date or file name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from indexer.errors import InputError
from retriever.reports.console import read_console
from retriever.reports.console_events import launch_line, section_name
from retriever.reports.csv_pages import read_csv
from retriever.reports.csv_rows import header_cells, page_of
from retriever.reports.names import SECTION_IDS
from retriever.reports.profile import Profile, Report
from retriever.reports.sanity import contradictions
from retriever.reports.source import EXPORT, TextSource, open_source

Detector = Callable[[str], bool]
"""True for the line that a layout begins with."""
Reader = Callable[[TextSource, int], tuple[tuple[Profile, ...], tuple[str, ...]]]
"""Source and first line to profiles and notes."""


def _page_header(page: str) -> Detector:
    return lambda line: (cells := header_cells(line)) is not None and page_of(cells) == page


def _launch(earlier: bool) -> Detector:
    return lambda line: (launch := launch_line(line)) is not None and launch.earlier is earlier


def _section(line: str) -> bool:
    """A section that a paste begins with, its kernel line lost."""
    return "Section:" in line and (name := section_name(line)) is not None and (name in SECTION_IDS or name.startswith("Command line"))


LAYOUTS: dict[str, tuple[Detector, Reader]] = {
    "csv-raw": (_page_header("csv-raw"), read_csv),
    "csv-details": (_page_header("csv-details"), read_csv),
    "csv-source": (_page_header("csv-source"), read_csv),
    "console-legacy": (_launch(earlier=True), read_console),
    "console": (lambda line: _launch(earlier=False)(line) or _section(line), read_console),
}
"""By name; the first line that any detector accepts decides, detectors in this order."""

CHECKED = 20  # launches looked at for contradictions; a file has one number style, so a few show it

LOOKED_AT = 200  # lines of a text in which a report shows itself; a program's own output before it is rarely longer

PROFILE_AGAIN = "ncu --set full --csv --page raw --log-file report.csv ./app"


@dataclass(frozen=True, slots=True)
class Trouble:
    """A line by which Nsight Compute says why a report has no metrics."""

    mark: str
    message: str
    """After the place; `{line}` is the line itself."""


TROUBLES = (
    Trouble(
        "ERR_NVGPUCTRPERM",
        "the driver refused access to the GPU's performance counters (ERR_NVGPUCTRPERM), so nothing was measured; run ncu as root, "
        "give the container CAP_SYS_ADMIN, or load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0, then profile again",
    ),
    Trouble(
        "No kernels were profiled",
        "ncu profiled no kernel; check the filters (--kernel-name, --launch-skip, --launch-count) and add --target-processes all "
        "when a child process launches the kernels",
    ),
    Trouble("==ERROR==", 'ncu stopped with "{line}"; mend that and profile again: ' + PROFILE_AGAIN),
    Trouble(
        "==PROF==",
        "the profiler's log without its results, which -o wrote to a .ncu-rep file; export it: " + EXPORT.format(rep="X.ncu-rep", stem="X"),
    ),
)
"""From the most telling to the least."""


def read_report(path_or_text: str | Path, source_name: str | None = None) -> Report:
    """The launches in a report given by path, or by text when the string has a newline.

    `source_name` replaces the path in messages. A truncated report gives what is whole, with notes.

    Raises:
        InputError: the file cannot be read as text, is no report of Nsight Compute, or has no metric in it.
    """
    source = open_source(path_or_text, source_name)
    layout, first = _layout(source)
    profiles, notes = LAYOUTS[layout][1](source, first)
    if not any(len(profile.metrics) or profile.unavailable or profile.rules for profile in profiles):
        raise InputError(_trouble(source) or _nothing(source.name, layout, first))
    return Report(source.name, layout, profiles, notes + _doubts(profiles))


def is_report(text: str) -> bool:
    """Whether a text is a report of Nsight Compute, by any line among its first ones."""
    lines = text.splitlines()[:LOOKED_AT]
    return any(detect(line) for line in lines for detect, _ in LAYOUTS.values())


def _doubts(profiles: tuple[Profile, ...]) -> tuple[str, ...]:
    """Launches that contradict themselves, most likely by a misread decimal sign."""
    return tuple(
        f"line {profile.location.split(':')[0]}: {doubt}; a number of this launch may be read by the wrong decimal sign"
        for profile in profiles[:CHECKED]
        for doubt in contradictions(profile)
    )


def _layout(source: TextSource) -> tuple[str, int]:
    """The layout and the line it begins at."""
    for number, line in source.lines():
        for name, (detect, _) in LAYOUTS.items():
            if detect(line):
                return name, number
    raise InputError(
        _trouble(source)
        or f"{source.name}: no Nsight Compute output in it (neither a kernel line nor a CSV header); pass what this writes: {PROFILE_AGAIN}"
    )


def _trouble(source: TextSource) -> str | None:
    """What the profiler itself says went wrong, with its place."""
    seen: dict[str, tuple[int, str]] = {}
    for number, line in source.lines():
        for trouble in TROUBLES:
            if trouble.mark in line:
                seen.setdefault(trouble.mark, (number, line.strip()))
    for trouble in TROUBLES:
        if trouble.mark in seen:
            number, line = seen[trouble.mark]
            return f"{source.name}:{number}: {trouble.message.format(line=line)}"
    return None


def _nothing(name: str, layout: str, first: int) -> str:
    what = "a CSV header without a row of metrics" if layout.startswith("csv") else "a kernel line without a metric"
    return f"{name}:{first}: {what} after it, so the file was cut or nothing was collected; profile again: {PROFILE_AGAIN}"

"""A file or a paste to a Report: any output of Nsight Compute, or a form without counters; told by the text, never by the file's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from indexer.errors import InputError
from retriever.reports.absent_counters import with_absent_counters
from retriever.reports.console import read_console
from retriever.reports.console_events import heading, launch_line, section_name, shows_a_launch
from retriever.reports.csv_pages import read_csv, read_pages
from retriever.reports.csv_rows import details_cells, header_cells, page_of
from retriever.reports.diff_sides import both, sides_of
from retriever.reports.headless import headless
from retriever.reports.names import is_section
from retriever.reports.profile import Profile, ProfilesAndNotes, Report
from retriever.reports.profiler_errors import errors_in
from retriever.reports.rep_file import read_rep
from retriever.reports.sanity import contradictions, without_impossible_counts
from retriever.reports.source import PROFILE_AGAIN, TextSource, export_command, open_source
from retriever.reports.source_lines import with_lines
from retriever.reports.troubles import explain
from retriever.reports.unanswered import unanswered
from retriever.reports.units import STYLE_NOTE
from retriever.reports.vertical_page import begins, read_vertical
from retriever.reports.without_counters import WHOLE_FILES, read_at_once, read_without_counters

Detector = Callable[[str], bool]
"""True for the line that a layout begins with."""
Reader = Callable[[TextSource, int], ProfilesAndNotes]
"""Source and first line to profiles and notes."""


def _may_head_page(line: str) -> bool:
    """What a header needs, told in a tenth of the time of asking for it: a file of 100 MB has a million lines."""
    return "Name" in line or "Source" in line or "Process ID" in line or "File Path" in line


def _may_be_console(line: str) -> bool:
    """The same for a kernel line or a section."""
    return "Device" in line or "Context" in line or "Section" in line or ")x(" in line or ") x (" in line


def _page_header(page: str) -> Detector:
    return lambda line: (cells := header_cells(line)) is not None and page_of(cells) == page


def _launch(earlier: bool) -> Detector:
    def detect(line: str) -> bool:
        launch = launch_line(line) if _may_be_console(line) else None
        return launch is not None and launch.earlier is earlier

    return detect


def _section(line: str) -> bool:
    """A section that a paste begins with, its kernel line lost."""
    return "Section:" in line and (name := section_name(line)) is not None and is_section(name)


LAYOUTS: dict[str, tuple[Detector, Reader]] = {
    "csv-vertical": (begins, read_vertical),
    "csv-raw": (_page_header("csv-raw"), read_csv),
    "csv-details": (lambda line: _page_header("csv-details")(line) or details_cells(line) is not None, read_csv),
    "csv-source": (_page_header("csv-source"), read_csv),
    "console-legacy": (_launch(earlier=True), read_console),
    "console": (lambda line: _launch(earlier=False)(line) or _section(line), read_console),
}
"""By name; the first line that any detector accepts decides, detectors in this order."""

CSV_LAYOUTS = frozenset(["csv-vertical", "csv-raw", "csv-details", "csv-source"])

CHECKED = 20  # launches looked at for contradictions; a file has one number style, so a few show it

LOOKED_AT = 200  # lines of a text in which a report shows itself; a program's own output before it is rarely longer


def read_report(path_or_text: str | Path, source_name: str | None = None) -> Report:
    """The launches of a report given by path, or by text when the string has a newline.

    Text may be packed (gzip, bzip2, xz, a zip or tar of one file), and `-` is standard input. `source_name` replaces the path in
    messages. A truncated report gives what is whole, with notes. A diff of two reports gives the launches of both, named `A: ` and `B: `.

    Raises:
        InputError: the file cannot be read, is no report of Nsight Compute and none of the forms without counters, or has no metric in it.
    """
    source = open_source(path_or_text, source_name)
    if source.binary:
        profiles, notes = read_rep(source)
        return Report(source.name, "ncu-rep", tuple(map(with_absent_counters, profiles)), notes)
    return _of_both_sides(source) or _of_text(source)


def _of_both_sides(source: TextSource) -> Report | None:
    """The two reports of a diff; None for any other text, and for a patch that has a report on one side only."""
    sides = sides_of(source)
    if sides is None:
        return None
    try:
        return both(source, *map(_of_text, sides))
    except InputError:
        return None


def _of_text(source: TextSource) -> Report:
    if other := read_at_once(source):
        return _counters_beside(source, other) or other
    try:
        layout, first = _layout(source)
    except InputError:
        if other := read_without_counters(source):
            return _counters_beside(source, other) or other
        begun = _lost_launch(source)
        if begun is None:
            raise
        layout, first = "console", begun
    profiles, notes = _read(source, layout, first)
    if not _says_anything(profiles):
        raise InputError(explain(source, may_be_session=False) or _nothing(source.name, layout, first, notes))
    return _report(source, layout, profiles, notes)


def _says_anything(profiles: tuple[Profile, ...]) -> bool:
    return any(len(profile.metrics) or profile.unavailable or profile.rules for profile in profiles)


def _report(source: TextSource, layout: str, profiles: tuple[Profile, ...], notes: tuple[str, ...]) -> Report:
    doubts = _doubts(profiles)
    checked = [without_impossible_counts(with_absent_counters(profile)) for profile in profiles]
    profiles = tuple(profile for profile, _ in checked)
    left_out = tuple(note for _, note in checked if note)
    notes = (*notes, *(error for error in errors_in(source.lines()) if error not in notes))
    return Report(source.name, layout, profiles, notes + _lines_only(profiles) + unanswered(profiles) + doubts + left_out)


def _counters_beside(source: TextSource, other: Report) -> Report | None:
    """The report of Nsight Compute in a text that has a form without counters above it, since counters say more. None without one."""
    begun = None if other.layout in WHOLE_FILES else _beginning(source)
    if begun is None:
        return None
    profiles, notes = _read(source, *begun)
    if not _says_anything(profiles):
        return None
    left_out = f"the same text has {other.layout} output, which is not used beside counters; kernels in it: {len(other.profiles)}"
    return _report(source, begun[0], profiles, (*notes, left_out))


def _beginning(source: TextSource) -> tuple[str, int] | None:
    """The layout and line of a report behind something else; a heading of its first section is enough."""
    for number, line in source.lines():
        if _may_be_console(line) or _may_head_page(line):
            for name, (detect, _) in LAYOUTS.items():
                if detect(line):
                    return name, number
        if "Speed Of Light" in line and heading(line):
            return "console", number
    return None


def _read(source: TextSource, layout: str, first: int) -> ProfilesAndNotes:
    """Profiles and notes; of a file that has both console text and CSV pages, the launches of both in that order."""
    profiles, notes = LAYOUTS[layout][1](source, first)
    other = _second_kind(source, layout, first)
    if not other:
        return profiles, notes
    if layout in CSV_LAYOUTS:
        more, more_notes = LAYOUTS[other[0]][1](source, other[1])
        return profiles + more, notes + tuple(note for note in more_notes if not note.startswith(STYLE_NOTE))
    launches, blocks, more, _ = read_pages(source, other[1])
    joined = with_lines([*profiles, *launches], blocks, more)
    return tuple(joined), notes + more.finish()


def _second_kind(source: TextSource, layout: str, first: int) -> tuple[str, int] | None:
    """Where the other of console text and CSV begins in a file that has both; None when it does not."""
    others = [name for name in LAYOUTS if (name in CSV_LAYOUTS) != (layout in CSV_LAYOUTS)]
    hint = _may_be_console if layout in CSV_LAYOUTS else _may_head_page
    for number, line in source.lines(first + 1):
        if hint(line):
            for name in others:
                if LAYOUTS[name][0](line):
                    return name, number
    return None


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


def _lines_only(profiles: tuple[Profile, ...]) -> tuple[str, ...]:
    """What to add to a source page that stands alone: its samples are a base of their own."""
    alone = [profile for profile in profiles if profile.lines and not profile.sections]
    alone = [profile for profile in alone if all(name.startswith("smsp__pcsamp_") for name in profile.metrics)]
    if not alone:
        return ()
    return (
        f"{len(alone)} of {len(profiles)} launches have only their source page: samples a line, no throughput and no cycles per "
        "instruction, so no bottleneck can be told; collected metrics print with: ncu --import REPORT.ncu-rep --page raw --csv",
    )


def _layout(source: TextSource) -> tuple[str, int]:
    """The layout and the line it begins at."""
    for number, line in source.lines():
        for name, (detect, _) in LAYOUTS.items():
            if detect(line):
                return name, number
    raise InputError(
        explain(source)
        or headless(source)
        or f"{source.name}: no Nsight Compute output in it (neither a kernel line nor a CSV header); pass what this writes: {PROFILE_AGAIN}"
    )


def _lost_launch(source: TextSource) -> int | None:
    """The first line that only a report prints, in a text that has lost its kernel lines and sections."""
    return next((number for number, line in source.lines() if shows_a_launch(line)), None)


def _nothing(name: str, layout: str, first: int, notes: tuple[str, ...]) -> str:
    if layout == "csv-source":
        return (
            f"{name}:{first}: a source page (--page source), which holds lines of code instead of a launch's metrics; "
            f"export the raw page: {export_command()}"
        )
    what = "a CSV header without a row of metrics" if layout.startswith("csv") else "a kernel line without a metric"
    said = [note for note in notes if not note.startswith(STYLE_NOTE)]
    why = f" ({said[0]})" if said else ", so the file was cut or nothing was collected"
    return f"{name}:{first}: {what} after it{why}; profile again: {PROFILE_AGAIN}"

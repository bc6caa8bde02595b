"""Pictures from the numbers of a report: roofline, stalls and memory traffic on one page, or two launches side by side.

matplotlib is an optional extra and is imported only here and below, when something is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexer.errors import InputError
from indexer.gpus import Gpu
from retriever.lookup import lookup_of
from retriever.plot_memory import draw_memory, memory_flows, most_bytes
from retriever.plot_roofline import draw_roofline
from retriever.plot_stalls import draw_stalls, draw_two_stacks, stall_cycles
from retriever.plot_style import DPI, GREY, INK, SLIDE_INCHES, SMALL, TITLE
from retriever.quantities import quantity, ratio_text
from retriever.reports.profile import Profile
from retriever.roofline import roofline_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
NO_STALLS = "stalls: the report has none by reason (collect --section WarpStateStats, and print the raw page)"
HEADLINE, HEADLINE_FITS = 18, 74  # points, and the characters of that size which a slide's width holds
NAME_SHOWN = 60  # characters of a kernel's name in a title; template arguments make longer ones


class NothingToDrawError(InputError):
    """The report has the data of no panel; the message says what to collect."""


def draw(path: Path, profile: Profile, gpu: Gpu | None) -> tuple[str, ...]:
    """Writes the panels whose data one launch has; gives what could not be drawn, in words.

    Raises:
        InputError: no matplotlib, an unknown ending, or a place that cannot be written.
        NothingToDrawError: no panel has its data; nothing is written.
    """
    _check_place(path)
    lookup = lookup_of(profile, gpu)
    stalls, (roofline, no_roofline), (memory, no_memory) = stall_cycles(lookup), roofline_of(lookup, gpu), memory_flows(lookup)
    missing = tuple(note for note in (no_roofline, "" if stalls else NO_STALLS, no_memory) if note)
    top: list[Callable[[Axes], None]] = []
    if roofline:
        top.append(lambda axes: draw_roofline(axes, roofline))
    if stalls:
        top.append(lambda axes: draw_stalls(axes, stalls))
    bottom = [lambda axes: draw_memory(axes, memory, most_bytes(memory))] if memory else []
    if not top and not bottom:
        raise NothingToDrawError(f"--plot: this report has nothing to draw; {'; '.join(missing)}; `--plan` prints the command")
    figure = _figure()
    _title(figure, _headline(profile, gpu))
    grid = figure.add_gridspec(len([row for row in (top, bottom) if row]), 1, height_ratios=[1.55, 1][: bool(top) + bool(bottom)])
    for place, row in enumerate(row for row in (top, bottom) if row):
        cells = grid[place].subgridspec(1, len(row), wspace=0.08)
        for column, panel in enumerate(row):
            panel(figure.add_subplot(cells[column]))
    _save(figure, path, missing)
    return missing


def draw_comparison(path: Path, before: Profile, after: Profile, gpus: tuple[Gpu | None, Gpu | None]) -> tuple[str, ...]:
    """Writes the stall stacks of two launches side by side, and their memory traffic where both have it.

    Raises:
        InputError, NothingToDrawError: as `draw`.
    """
    _check_place(path)
    lookups = [lookup_of(profile, gpu) for profile, gpu in zip((before, after), gpus)]
    stalls = (stall_cycles(lookups[0]), stall_cycles(lookups[1]))
    flows = [memory_flows(lookup) for lookup in lookups]
    missing = []
    for side, cycles, (memory, no_memory) in zip(("first", "second"), stalls, flows):
        missing += [] if cycles else [f"the {side} report, {NO_STALLS}"]
        missing += [] if memory else [f"the {side} report, {no_memory}"]
    if not all(stalls) and not all(memory for memory, _ in flows):
        raise NothingToDrawError(
            f"--plot: these reports have nothing to draw side by side; {'; '.join(missing)}; `--plan` prints the command"
        )
    figure = _figure()
    _title(figure, _change(before, after, gpus))
    both = all(stalls) and all(memory for memory, _ in flows)
    columns = figure.add_gridspec(1, 2 if both else 1, width_ratios=[1, 1.75] if both else None)
    if all(stalls):
        draw_two_stacks(figure.add_subplot(columns[0]), stalls, (_short(before.kernel, 24), _short(after.kernel, 24)))
    if all(memory for memory, _ in flows):
        rows = columns[columns.ncols - 1].subgridspec(2, 1)
        drawn = [memory for memory, _ in flows if memory]
        for place, memory in enumerate(drawn):
            axes = figure.add_subplot(rows[place])
            draw_memory(axes, memory, max(map(most_bytes, drawn)))
            words = ("Before: memory traffic (blue: loads, orange: stores)", "After")[place]
            axes.set_title(words, loc="left", fontsize=TITLE, color=INK)
    _save(figure, path, tuple(missing))
    return tuple(missing)


def _check_place(path: Path) -> None:
    if path.suffix.lower() not in FORMATS:
        raise InputError(f'--plot {path}: unknown kind of picture "{path.suffix}"; one of {", ".join(FORMATS)}')
    if not path.parent.is_dir():
        raise InputError(f"--plot {path}: no folder {path.parent}; make it first")


def _figure() -> Figure:
    try:
        from matplotlib.figure import Figure as Page
    except ImportError as error:
        raise InputError("--plot needs matplotlib, which is not installed: pip install 'warplore[plot]'") from error
    page = Page(figsize=SLIDE_INCHES, dpi=DPI, layout="constrained", facecolor="white")
    page.get_layout_engine().set(w_pad=0.12, h_pad=0.1, rect=(0.005, 0.005, 0.985, 0.985))  # type: ignore[union-attr]  # it was named above
    return page


def _short(name: str, most: int = NAME_SHOWN) -> str:
    return name if len(name) <= most else name[: most - 3] + "..."


def _place(profile: Profile, gpu: Gpu | None) -> str:
    if profile.device:
        return profile.device
    return gpu.name if gpu else "GPU not named"


def _headline(profile: Profile, gpu: Gpu | None) -> str:
    time = profile.value("gpu__time_duration.sum")
    parts = [_short(profile.kernel), _place(profile, gpu), quantity(time, "ns") if time is not None else ""]
    return "  |  ".join(part for part in parts if part)


def _change(old: Profile, new: Profile, gpus: tuple[Gpu | None, Gpu | None]) -> str:
    names = _short(old.kernel) if old.kernel == new.kernel else f"{_short(old.kernel, 32)} and {_short(new.kernel, 32)}"
    places = list(dict.fromkeys(_place(profile, gpu) for profile, gpu in zip((old, new), gpus)))
    times = [profile.value("gpu__time_duration.sum") for profile in (old, new)]
    time = f"{quantity(times[0], 'ns')} to {quantity(times[1], 'ns')}" if times[0] is not None and times[1] is not None else ""
    faster = f" ({ratio_text(times[1] or 0.0, times[0] or 0.0)} as fast)" if time and times[1] else ""
    return "  |  ".join(part for part in (names, ", then ".join(places), time + faster) if part)


def _title(figure: Figure, line: str) -> None:
    size = min(HEADLINE, HEADLINE * HEADLINE_FITS / len(line))
    figure.suptitle(line, fontsize=size, fontweight="bold", color=INK, x=0.01, ha="left")


def _save(figure: Figure, path: Path, missing: tuple[str, ...]) -> None:
    if missing:
        figure.supxlabel("not drawn: " + "\n".join(missing), fontsize=SMALL, color=GREY, x=0.01, ha="left")
    metadata: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower(), {})
    from matplotlib import rc_context

    try:
        with rc_context({"svg.hashsalt": "warplore"}):  # ids of an SVG's parts are random without it
            figure.savefig(path, metadata=metadata or None)
    except OSError as error:
        raise InputError(f"--plot {path}: cannot be written ({error.strerror}); name a file in a writable folder") from error

"""Two compared reports as a person reads them in a terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from retriever.compare import Comparison, Fate, LaunchComparison, Step, Times
from retriever.diagnosis import WELL_OPTIMIZED
from retriever.movements import Expectation, Movement
from retriever.pairing import block_size, grid_size
from retriever.pointer_fates import PointerFate
from retriever.quantities import quantity, ratio_text
from retriever.reports.profile import Profile
from retriever.terminal import out

CURES_SHOWN = 5
NO_NAME = "kernel without a name"
SAME_TO_TWO_DIGITS = 0.995  # above it both wordings would print 1.00x
_STYLES = {"went": "green", "came": "red", "stayed": "yellow", "undecided": "dim"}
_FAILURES = {"unmoved": "did not move", "worse": "moved the wrong way", "unknown": "cannot be read in the second report"}


def print_comparison(comparison: Comparison) -> None:
    """Launch by launch: time, bottlenecks, what moved, what should have moved, what is next; then launches without a partner."""
    for launch in comparison.launches:
        _print_launch(launch)
    for which, profiles in (("first", comparison.only_before), ("second", comparison.only_after)):
        for profile in profiles:
            out.print(Text(f"only in the {which} report: {_named(profile)}", style="dim"))
    if not comparison.launches:
        out.print("no launch of one report matches one of the other; choose them with --kernel-name NAME or --kernel-name OLD=NEW")


def _named(profile: Profile) -> str:
    return "  ".join(filter(None, (profile.kernel or NO_NAME, _shape(profile))))


def _shape(profile: Profile) -> str:
    if profile.grid and profile.block:
        return f"grid {profile.grid}, block {profile.block}"
    sizes = (("grid size", grid_size(profile)), ("block size", block_size(profile)))
    return ", ".join(f"{name} {size:,}" for name, size in sizes if size)


def _print_launch(launch: LaunchComparison) -> None:
    names = dict.fromkeys(profile.kernel or NO_NAME for profile in (launch.before, launch.after))
    shapes = {_shape(profile) for profile in (launch.before, launch.after)}
    same = shapes.pop() if len(shapes) == 1 else ""
    out.print(Text(" -> ".join(names), style="bold") + Text(f"  {launch.how}{same and f': {same}'}", style="dim"))
    for line in time_lines(launch.times):
        out.print(Text(f"  {line}"))
    for note in launch.notes:
        out.print(Text(f"  ! {note}", style="yellow"), soft_wrap=True)
    _print_fates(launch)
    if launch.movements:
        out.print(_movement_table(launch.movements))
    remaining = {fate.id for fate in launch.fates if fate.outcome != "went"}
    failed = [e for e in launch.expectations if e.outcome in _FAILURES and e.bottleneck in remaining]
    for expectation in failed:
        out.print(Text(f"  expected to move: {_failure(expectation)}", style="yellow"))
    if launch.next:
        _print_next(launch.next)
    out.print()


def time_lines(times: Times) -> list[str]:
    """Time and its ratio, and what the clocks do to it."""
    if times.before_ns is None or times.after_ns is None:
        return ["time: not in both reports"]
    lines = [f"time {_arrow(times.before_ns, times.after_ns, 'ns')}: {_faster(times.speedup)}"]
    if times.equal_clocks is None:
        lines.append("SM frequency: not in both reports, so the clocks may differ")
    elif times.equal_clocks:
        lines[0] += ", at equal SM clocks"
    else:
        clocks = _arrow(float(times.clock_before_hz or 0), float(times.clock_after_hz or 0), "hz")
        lines.append(f"SM clock {clocks}: not equal, so compare cycles")
    if times.equal_clocks is not True and times.cycles_before and times.cycles_after:
        lines.append(f"SM cycles {_arrow(times.cycles_before, times.cycles_after, 'cycle')}: {_faster(times.speedup_in_cycles)}")
    return lines


def _arrow(before: float, after: float, unit: str) -> str:
    return f"{quantity(before, unit)} -> {quantity(after, unit)}"


def _faster(speedup: float | None) -> str:
    if not speedup:
        return "no ratio"
    return f"{speedup:.2f}x as fast" if speedup >= SAME_TO_TWO_DIGITS else f"{1 / speedup:.2f}x slower"


def _print_fates(launch: LaunchComparison) -> None:
    for fate in launch.fates:
        roof = "  (the roof, no fault)" if fate.roof and fate.id != WELL_OPTIMIZED else ""
        out.print(_head(fate.outcome, fate.id) + Text(f"  {severity_change(fate)}{roof}"))
    for pointer in launch.pointers:
        out.print(_head(pointer.outcome, pointer.bottleneck) + Text(f"  {_pointer(pointer)}"))
    if not launch.fates and not launch.pointers:
        out.print("  no signature of the guides holds on either side")


def _head(outcome: str, bottleneck: str) -> Text:
    return Text(f"  {outcome:<10}", style=_STYLES[outcome]) + Text(bottleneck, style="bold")


def severity_change(fate: Fate) -> str:
    """`at most 92 % of the time (was at most 40 %)`; of an undecided one, which report cannot tell."""
    undecided = fate.outcome == "undecided"
    if fate.after is None:
        was = f"was {_cost(fate.before or 0, fate.roof, ' of the time')}"
        return f"{was} (the second report cannot tell whether it is still there)" if undecided else was
    now = _cost(fate.after, fate.roof, " of the time")
    if undecided:
        return f"{now} (the first report cannot tell whether it was there)"
    return f"{now} (was {'not named' if fate.before is None else _cost(fate.before, fate.roof)})"


def _cost(severity: float, roof: bool, of_what: str = "") -> str:
    """A severity of 0 is a fault told without counters, whose cost nobody knows."""
    return f"at most {severity:.0f} %{of_what}" if severity or roof else "of unknown cost"


def _pointer(fate: PointerFate) -> str:
    values = " -> ".join("missing" if value is None else quantity(value, fate.unit) for value in (fate.before, fate.after))
    return f"pointed to by {fate.label} {values} ({fate.op} {quantity(fate.threshold, fate.unit)})"


def _movement_table(movements: tuple[Movement, ...]) -> Table:
    view = Table(header_style="bold", box=None, padding=(0, 1))
    for column, side in (("  metric", "left"), ("before", "right"), ("after", "right"), ("ratio", "right"), ("named by", "left")):
        view.add_column(column, justify=side, no_wrap=True, overflow="ellipsis")  # type: ignore[arg-type]
    for move in movements:
        sides = ["-" if value is None else quantity(value, move.unit) for value in (move.before, move.after)]
        ratio = "" if move.before is None or move.after is None else ratio_text(move.before, move.after)
        view.add_row(Text(f"  {move.label}"), *sides, ratio, ", ".join((move.guide, *move.also)))
    return view


def _failure(expectation: Expectation) -> str:
    values = [quantity(v, expectation.unit) if v is not None else "missing" for v in (expectation.before, expectation.after)]
    limit = expectation.threshold
    mark = f", shows while {expectation.op} {quantity(limit, expectation.unit)}" if limit is not None else ""
    return f"{expectation.label} ({expectation.bottleneck}{mark}) {_FAILURES[expectation.outcome]}: {' -> '.join(values)}"


def _print_next(step: Step) -> None:
    out.print(Text(f"  next: {step.bottleneck}, {step.text}"), soft_wrap=True)
    if step.cures:
        out.print(Text(f"    try, in order: {', '.join(step.cures[:CURES_SHOWN])}", style="cyan"))

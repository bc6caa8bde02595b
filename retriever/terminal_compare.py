"""Two compared reports as a person reads them in a terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from retriever.compare import Comparison, Fate, LaunchComparison, Step, Times
from retriever.diagnosis import WELL_OPTIMIZED
from retriever.movements import Expectation, Movement
from retriever.quantities import quantity, ratio_text
from retriever.reports.profile import Profile
from retriever.terminal import out

CURES_SHOWN = 5
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
    return f"{profile.kernel}{f'  grid {profile.grid}, block {profile.block}' if profile.grid and profile.block else ''}"


def _print_launch(launch: LaunchComparison) -> None:
    same = launch.before.kernel == launch.after.kernel
    out.print(Text(launch.before.kernel if same else f"{launch.before.kernel} -> {launch.after.kernel}", style="bold"), end="")
    out.print(Text(f"  {launch.how}", style="dim"))
    for line in time_lines(launch.times):
        out.print(Text(f"  {line}"))
    for note in launch.notes:
        out.print(Text(f"  ! {note}", style="yellow"))
    _print_fates(launch.fates)
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


def _print_fates(fates: tuple[Fate, ...]) -> None:
    if not fates:
        out.print("  no signature of the guides holds on either side")
    for fate in fates:
        severity = " -> ".join("-" if value is None else f"{value:.0f}" for value in (fate.before, fate.after))
        roof = "  (the roof, no fault)" if fate.roof and fate.id != WELL_OPTIMIZED else ""
        line = Text(f"  {fate.outcome:<10}", style=_STYLES[fate.outcome]) + Text(fate.id, style="bold")
        out.print(line + Text(f"  at most % of the time: {severity}{roof}"))


def _movement_table(movements: tuple[Movement, ...]) -> Table:
    view = Table(header_style="bold", box=None, padding=(0, 1))
    for column, side in (("  metric", "left"), ("before", "right"), ("after", "right"), ("ratio", "right"), ("named by", "left")):
        view.add_column(column, justify=side, no_wrap=True, overflow="ellipsis")  # type: ignore[arg-type]
    for move in movements:
        sides = ["-" if value is None else quantity(value, move.unit) for value in (move.before, move.after)]
        ratio = "" if move.before is None or move.after is None else ratio_text(move.before, move.after)
        view.add_row(Text(f"  {move.label}"), *sides, ratio, move.guide)
    return view


def _failure(expectation: Expectation) -> str:
    values = [quantity(v, expectation.unit) if v is not None else "missing" for v in (expectation.before, expectation.after)]
    limit = expectation.threshold
    mark = f", shows while {expectation.op} {quantity(limit, expectation.unit)}" if limit is not None else ""
    return f"{expectation.label} ({expectation.bottleneck}{mark}) {_FAILURES[expectation.outcome]}: {' -> '.join(values)}"


def _print_next(step: Step) -> None:
    out.print(Text(f"  next: {step.bottleneck}, {step.text}"))
    if step.cures:
        out.print(Text(f"    try, in order: {', '.join(step.cures[:CURES_SHOWN])}", style="cyan"))

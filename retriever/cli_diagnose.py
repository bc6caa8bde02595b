"""The command `diagnose`: one report, two reports, a plan, a picture. Answers go to stdout, notes to stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from indexer.errors import InputError
from retriever.cli_options import print_json
from retriever.typed_facts import Typed, with_typed

if TYPE_CHECKING:
    from indexer.gpus import Gpu
    from retriever.diagnosis import Diagnosed
    from retriever.plan import Plan
    from retriever.reports.profile import Profile, Report
    from retriever.service import Warplore


@dataclass(frozen=True, slots=True)
class Asked:
    """The command's options as given."""

    report: str | None
    kernel_name: str | None
    vs: str | None
    plan: bool
    plot: Path | None
    kernel: str | None
    gpu: str | None
    as_json: bool
    typed: Typed = field(default_factory=Typed)
    """Resources, geometry and time given as options."""


def run(core: Warplore, asked: Asked) -> None:
    """Answer one call of the command.

    Raises:
        InputError: nothing to diagnose, unusable input, or options that exclude each other.
    """
    if asked.report is None and not asked.typed.given:
        _plan_without_report(core, asked)
        return
    if asked.plan and asked.vs:
        raise InputError("--plan and --vs: a plan is for one report; leave one of them out")
    if asked.kernel:
        raise InputError("--kernel: with a report the kernel's name comes from there; --kernel is for --plan without a report")
    if asked.vs and asked.typed.given:
        raise InputError("--vs compares two reports as they are; leave out --ptxas, --grid, --time-us and the other typed values")
    if asked.vs:
        _compare(core, asked)
    else:
        _diagnose(core, asked)


def _plan_without_report(core: Warplore, asked: Asked) -> None:
    from retriever.plan import plan_from_nothing

    if not asked.plan:
        raise InputError("no report given; give one, or --plan for the command that makes one")
    if asked.vs or asked.plot:
        raise InputError("--vs and --plot need a report as the first argument")
    names = core.read_kernel(asked.kernel).kernels if asked.kernel else ()
    kernels = tuple(name for name in names if not asked.kernel_name or asked.kernel_name in name)
    plan = plan_from_nothing(kernels or ((asked.kernel_name,) if asked.kernel_name else ()))
    _print_plans(asked, [plan])


def _print_plans(asked: Asked, plans: list[Plan]) -> None:
    from retriever.json_forms import SCHEMA, plan_json
    from retriever.plan import plan_text

    if asked.as_json:
        print_json({"schema": SCHEMA, "plans": [plan_json(plan) for plan in plans]})
    else:
        print("\n\n".join(map(plan_text, plans)))


def _read(core: Warplore, path: str, kernel_name: str | None, gpu: Gpu | None) -> tuple[Report, tuple[Diagnosed, ...]]:
    from retriever.reports.read import read_report

    report = read_report(path)
    return report, core.diagnose(report, gpu, kernel_name)


def _read_with_typed(core: Warplore, asked: Asked, gpu: Gpu | None) -> tuple[Report, tuple[Diagnosed, ...]]:
    """The report with what was typed, and of a report without counters only what concerns `gpu` and is worth printing."""
    from retriever.reports.read import read_report
    from retriever.weak_facts import for_gpu, leading

    report = read_report(asked.report) if asked.report is not None else None
    if asked.typed.given:
        report = with_typed(report, asked.typed, core.root, asked.kernel_name)
    assert report is not None  # `run` asks for a report or typed values
    report = for_gpu(report, gpu)
    if not (asked.kernel_name or asked.as_json):
        report = leading(report)
    name = asked.kernel_name if asked.report is not None or asked.typed.ptxas else None
    return report, core.diagnose(report, gpu, name)


def _named_gpu(core: Warplore, asked: Asked) -> Gpu | None:
    from retriever.inputs import find_gpu

    return find_gpu(asked.gpu, core.gpus) if asked.gpu else None


def _diagnose(core: Warplore, asked: Asked) -> None:
    from retriever.inputs import reading_gpu
    from retriever.json_forms import diagnose_json, diagnosis_json
    from retriever.terminal import print_diagnoses

    named = _named_gpu(core, asked)
    report, pairs = _read_with_typed(core, asked, named)
    gpus = [reading_gpu(profile, named, core.gpu_of(profile)) for profile, _ in pairs]
    if asked.plan:
        _plan(asked, pairs)
    elif asked.as_json:
        print_json(diagnose_json(report, [diagnosis_json(d, p, g) for (p, d), g in zip(pairs, gpus)]))
    else:
        print_diagnoses(pairs, gpus)
    if asked.plot:
        _plot_longest(asked.plot, [profile for profile, _ in pairs], gpus)
    if not asked.as_json:
        _print_notes(report)


def _plan(asked: Asked, pairs: tuple[Diagnosed, ...]) -> None:
    """One plan for each kernel name: the launches of one kernel lack the same sections."""
    from retriever.plan import plan_for

    first: dict[str, Diagnosed] = {}
    for profile, diagnosis in pairs:
        first.setdefault(profile.kernel, (profile, diagnosis))
    _print_plans(asked, [plan_for(profile, diagnosis) for profile, diagnosis in first.values()])


def _compare(core: Warplore, asked: Asked) -> None:
    from retriever.compare import compare
    from retriever.inputs import reading_gpu
    from retriever.json_forms import comparison_json
    from retriever.terminal_compare import print_comparison

    if asked.report == "-" == asked.vs:
        raise InputError("- and --vs -: standard input can be read once; give one of them as a file")
    named = _named_gpu(core, asked)
    old_name, _, new_name = (asked.kernel_name or "").partition("=")
    before, first = _read(core, str(asked.report), old_name or None, named)
    after, second = _read(core, str(asked.vs), new_name or old_name or None, named)
    comparison = compare(first, second, core.guides)
    if asked.as_json:
        print_json(comparison_json(before, after, comparison))
    else:
        print_comparison(comparison)
    if asked.plot and not comparison.launches:
        _say("--plot: no launch of one report matches one of the other, so there is nothing to draw side by side")
    elif asked.plot:
        pair = comparison.launches[0]
        before_gpu, after_gpu = (reading_gpu(profile, named, core.gpu_of(profile)) for profile in (pair.before, pair.after))
        _plot_pair(asked.plot, pair.before, pair.after, (before_gpu, after_gpu))
    if not asked.as_json:
        _print_notes(before, after)


def _plot_longest(path: Path, profiles: list[Profile], gpus: list[Gpu | None]) -> None:
    from retriever.plot import draw

    place = max(range(len(profiles)), key=lambda i: (profiles[i].value("gpu__time_duration.sum") or 0.0, -i))
    if _drawn(path, lambda: draw(path, profiles[place], gpus[place])) and len(profiles) > 1:
        _say(f"drawn is the longest of {len(profiles)} launches; --kernel-name chooses")


def _plot_pair(path: Path, before: Profile, after: Profile, gpus: tuple[Gpu | None, Gpu | None]) -> None:
    from retriever.plot import draw_comparison

    _drawn(path, lambda: draw_comparison(path, before, after, gpus))


def _drawn(path: Path, draw: Callable[[], tuple[str, ...]]) -> bool:
    """Whether there was something to draw; what was not is said, since the diagnosis stands without a picture."""
    from retriever.plot import NothingToDrawError

    try:
        missing = draw()
    except NothingToDrawError as nothing:
        _say(str(nothing))
        return False
    _say(f"wrote {path}")
    for note in missing:
        _say(f"not drawn: {note}")
    return True


def _say(line: str) -> None:
    print(f"warplore: {line}", file=sys.stderr)


def _print_notes(*reports: Report) -> None:
    for report in reports:
        for note in report.notes:
            _say(f"{f'{report.source}: ' if len(reports) > 1 else ''}{note}")

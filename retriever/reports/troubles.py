"""Why a text has no metrics of a launch, in the profiler's own words and in what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from retriever.reports.profiler_errors import DENIED, advice
from retriever.reports.source import PROFILE_AGAIN, TextSource, export_command, nsys_command


@dataclass(frozen=True, slots=True)
class Trouble:
    """A line by which Nsight Compute says why a report has no metrics."""

    mark: str
    """Part of the line, with single spaces."""
    message: str
    """After the place; `{line}` is the line itself and `{remedy}` what to do about it."""


NVPROF_ROWS = ("GPU activities:", '"GPU activities",')
"""Rows of nvprof's summary, which is read with its header only."""
NVPROF_MARKS = ("NVPROF is profiling", "nvprof is not supported", "Metric Description Min Max Avg")
"""Other lines of nvprof: above its output, where it refuses a GPU, and above its table of metrics."""
OF_NVPROF = (
    "output of nvprof, which is not read: its metrics have other names and meanings, and it knows no GPU past compute capability 7.5; "
    f"profile with Nsight Compute (compute capability 7.0 or later): {PROFILE_AGAIN}; or take kernel times alone: "
    f"nsys profile -o run ./app, then {nsys_command('run.nsys-rep')}"
)
WITH_HEADER = "; or add the header line of this summary, which is read with it: Type Time(%) Time Calls Avg Min Max Name"

TROUBLES = (
    Trouble(
        DENIED,
        "the driver refused access to the GPU's performance counters (ERR_NVGPUCTRPERM), so nothing was measured; {remedy}, then profile "
        "again; or go on without counters: warplore diagnose also reads ptxas -v, cuobjdump --dump-resource-usage, nsys stats, "
        "torch.profiler and Triton metadata, and takes --grid, --block, --time-us, --bytes and --flops",
    ),
    Trouble("==ERROR==", 'ncu stopped with "{line}"; {remedy}, then profile again: ' + PROFILE_AGAIN),
    *(Trouble(mark, OF_NVPROF + WITH_HEADER) for mark in NVPROF_ROWS),
    *(Trouble(mark, OF_NVPROF) for mark in NVPROF_MARKS),
    Trouble(
        "No kernels were profiled",
        "ncu profiled no kernel; {remedy}",
    ),
    Trouble(
        "Source Warp Stall Sampling (All",
        "a source page as text, whose columns run into each other; export it as CSV: ncu --import REPORT.ncu-rep --page source --csv",
    ),
    Trouble(
        "==PROF==",
        "the profiler's log without its results, which -o wrote to a .ncu-rep file; export it: " + export_command("X.ncu-rep"),
    ),
)
"""From the most telling to the least."""

ENOUGH_ATTRIBUTES = 3  # a guess: prose about a GPU names one or two of them
_ATTRIBUTE = re.compile(r"compute.capability|multiprocessor.count|display.name|driver.version|device.attribute|max.threads.per.block")
"""What the session page lists, whichever way it spells it; its layout was not seen."""

SESSION_PAGE = (
    "looks like a session page (--page session), which has the GPU's attributes and no metric; export the raw page: " + export_command()
)


def explain(source: TextSource, may_be_session: bool = True) -> str | None:
    """What the profiler itself says went wrong, with its place; None when it says nothing. The header of a raw page names attributes
    too, so `may_be_session` is false for a text with one.
    """
    seen: dict[str, tuple[int, str]] = {}
    attributes: set[str] = set()
    for number, line in source.lines():
        attributes.update(_ATTRIBUTE.findall(line.lower()))
        words = " ".join(line.split())
        for trouble in TROUBLES:
            if trouble.mark in words:
                seen.setdefault(trouble.mark, (number, line.strip()))
    for trouble in TROUBLES:
        if trouble.mark in seen:
            number, line = seen[trouble.mark]
            return f"{source.name}:{number}: {trouble.message.format(line=line, remedy=advice(' '.join(line.split())) or 'mend that')}"
    return f"{source.name}: {SESSION_PAGE}" if may_be_session and len(attributes) >= ENOUGH_ATTRIBUTES else None

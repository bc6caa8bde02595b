"""Inputs that hold no counters, for GPUs that deny them: build logs, resource dumps, traces, summaries, Triton's metadata."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from indexer.errors import InputError
from retriever.reports import nsys_tables, nvprof_summary, ptxas_log, resource_usage, torch_profiler
from retriever.reports.profile import ProfilesAndNotes, Report
from retriever.reports.profiler_errors import DENIED
from retriever.reports.source import TextSource
from retriever.reports.triton_metadata import is_metadata, printed, triton_profile


@dataclass(frozen=True, slots=True)
class Form:
    """One input form of text."""

    layout: str
    begins: Callable[[str], bool]
    read: Callable[[TextSource, int], ProfilesAndNotes]


WHOLE_FILES = ("torch-trace", "triton-metadata")
"""Layouts that fill their file, so that no report can stand beside them."""
TOP_LINES = 50  # nsys prints some lines of notices above its first table
TABLES = (
    Form("nsys", nsys_tables.begins, nsys_tables.read_nsys),
    Form("nvprof", nvprof_summary.begins, nvprof_summary.read_nvprof),
)
"""Profilers' summaries, which stand near the top of their file."""
FORMS = (
    Form("ptxas", ptxas_log.begins, ptxas_log.read_ptxas),
    Form("cuobjdump", resource_usage.begins, resource_usage.read_resource_usage),
    Form("torch-table", torch_profiler.begins_table, torch_profiler.read_table),
    *TABLES,
)
"""The first line that begins one decides."""

MAX_JSON_BYTES = 2**30  # a guess: a trace of more does not fit the memory of a laptop when read


def read_at_once(source: TextSource) -> Report | None:
    """The report in a JSON file or in a table of TABLES, which show themselves at the top, so that large ones are not searched for others.

    Raises:
        InputError: the form is known and the text holds no kernel.
    """
    for number, line in source.lines():
        if number == 1 and (report := _structured(source, line)):
            return report
        for form in TABLES:
            if form.begins(line):
                return Report(source.name, form.layout, *form.read(source, number))
        if number == TOP_LINES:
            break
    return None


def read_without_counters(source: TextSource) -> Report | None:
    """The report in a text that is none of Nsight Compute; None when it is of no form that is known here.

    Raises:
        InputError: the form is known and the text holds no kernel.
    """
    denied = ""
    for number, line in source.lines():
        if not denied and DENIED in line:
            denied = f"line {number}: the counters were denied ({DENIED}); what else is in the file is read in their place"
        for form in FORMS:
            if form.begins(line):
                profiles, notes = form.read(source, number)
                if not profiles:
                    return None
                return Report(source.name, form.layout, profiles, ((denied,) if denied else ()) + notes)
    return None


def _structured(source: TextSource, line: str) -> Report | None:
    """A JSON file, or what Python printed of a Triton kernel."""
    if not line.lstrip("\ufeff \t").startswith(("{", "KernelMetadata(", "[")) and line.strip():
        return None
    text = _whole(source)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = printed(text)
    if is_metadata(found):
        return Report(source.name, "triton-metadata", (triton_profile(found),))
    trace = _trace_in(found)
    if trace is None:
        return None
    profiles, notes = torch_profiler.read_trace(source, trace)
    return Report(source.name, "torch-trace", profiles, notes)


def _trace_in(found: Any) -> dict[str, Any] | None:
    """A Chrome trace: an object with `traceEvents`, or the bare list of events."""
    if isinstance(found, list) and found and isinstance(found[0], dict) and "ph" in found[0]:
        return {"traceEvents": found}
    return found if isinstance(found, dict) and isinstance(found.get("traceEvents"), list) else None


def _whole(source: TextSource) -> str:
    if source.path and not source.unpack and source.path.stat().st_size <= MAX_JSON_BYTES:
        return source.path.read_text(encoding=source.encoding, errors="replace")
    parts, size = [], 0
    for _, line in source.lines():
        parts.append(line)
        size += len(line)
        if size > MAX_JSON_BYTES:
            raise InputError(f"{source.name}: a JSON text of more than {MAX_JSON_BYTES >> 20} Mi characters; trace fewer steps")
    return "".join(parts)

"""What torch.profiler writes: the text of `key_averages().table()`, and the Chrome trace."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from indexer.errors import InputError
from retriever.reports.draft import Dimensions
from retriever.reports.launch_times import Launch, Total, copies_of, profiles_of, totals
from retriever.reports.profile import ProfilesAndNotes
from retriever.reports.source import TextSource
from retriever.reports.units import SECONDS_IN_NS

_TIME = re.compile(r"(-?[\d.]+)(us|ms|s)")
_SHARE = re.compile(r"(\d+(?:\.\d+)?)%")
_GAP = re.compile(r"\s{2,}")
_NO_KERNEL = re.compile(r"^(?:Memcpy|Memset|ProfilerStep|Optimizer\.|##|cuda[A-Z]|cu[A-Z])")
GPU_COLUMN, SHARE_COLUMN = "Self CUDA", "Self CUDA %"
COUNTED = 1.01  # more self time than the footer's total by a hundredth: rows overlap

TRACE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
"""Categories of the trace in which the GPU works; annotations and the host's calls have others."""


def begins_table(line: str) -> bool:
    """Whether the line is the head of a table of averages."""
    cells = _GAP.split(line.strip(" \t\n#|"))
    return cells[0] == "Name" and "Self CPU" in cells and "# of Calls" in cells


def read_table(source: TextSource, first: int) -> ProfilesAndNotes:
    """The rows that are kernels: those with time on the GPU and none on the CPU.

    Raises:
        InputError: the table has no GPU columns, or no kernel in its rows.
    """
    lines = source.lines(first)
    number, head = next(lines)
    columns = _GAP.split(head.strip(" \t\n#|"))
    if GPU_COLUMN not in columns:
        raise InputError(
            f"{source.name}:{number}: a torch profile of the CPU only (no column {GPU_COLUMN}); profile with "
            "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"
        )
    rows = list(_rows(lines, columns))
    on_host = {name for _, name, row in rows if row["Self CPU"]}
    on_gpu = [
        _total(number, name, row)
        for number, name, row in rows
        if row[GPU_COLUMN] > 0 and not row["Self CPU"] and not row["CPU total"] and name not in on_host
    ]
    found = [total for total in on_gpu if not _NO_KERNEL.match(total.name)]
    if not found:
        raise InputError(f"{source.name}:{number}: no kernel among the rows of this table; print more of it: row_limit=100")
    beside_pct = sum(total.share_pct or 0.0 for total in on_gpu if _NO_KERNEL.match(total.name))
    profiles, notes = profiles_of(found, "a table of torch.profiler", beside_pct=beside_pct)
    whole = next((row["total"] for _, name, row in rows if name == ""), 0.0)
    if whole and sum(total.total_ns for total in found) > COUNTED * whole:
        notes += ("the rows sum to more than the table's own total, so annotations are among them: shares are too small",)
    return profiles, notes


def _total(line: int, name: str, row: dict[str, float]) -> Total:
    count, time_ns = row["# of Calls"], row[GPU_COLUMN]
    return Total(name, int(count), time_ns, time_ns / max(1, count), f"{line}:1", share_pct=row.get(SHARE_COLUMN))


def _rows(lines: Iterator[tuple[int, str]], columns: list[str]) -> Iterator[tuple[int, str, dict[str, float]]]:
    """Line number, name and numbers of each row; the footer's total as a row without a name."""
    for number, line in lines:
        if footer := re.search(r"Self CUDA time total: *([\d.]+(?:us|ms|s))", line):
            yield number, "", {"total": _number(footer[1]), "Self CPU": 0.0, "CPU total": 0.0, GPU_COLUMN: 0.0, "# of Calls": 0.0}
            return
        cells = _GAP.split(line.strip(" \t\n#|"))
        if len(cells) == len(columns):
            values = {column: _number(cell) for column, cell in zip(columns[1:], cells[1:])}
            yield number, cells[0], values


def _number(cell: str) -> float:
    """A time in ns, a share in percent, or a plain number; 0 for what is none of them."""
    if match := _TIME.fullmatch(cell):
        return float(match[1]) * SECONDS_IN_NS[match[2]]
    if match := _SHARE.fullmatch(cell):
        return float(match[1])
    return float(cell) if re.fullmatch(r"\d+", cell) else 0.0


def read_trace(source: TextSource, found: dict[str, Any]) -> ProfilesAndNotes:
    """Kernels of a Chrome trace by name and shape, with the idle time before them.

    Raises:
        InputError: the trace has no work of a GPU.
    """
    devices = {str(item.get("id")): item for item in found.get("deviceProperties") or [] if isinstance(item, dict)}
    events = [event for event in found["traceEvents"] if isinstance(event, dict) and _is_work(event)]
    launches = [_launch(place, event, devices) for place, event in enumerate(events, start=1)]
    if not any(launch.is_kernel for launch in launches):
        raise InputError(
            f"{source.name}: a trace without a kernel (no event of category kernel); profile with ProfilerActivity.CUDA, "
            "and let the profiled code run on the GPU"
        )
    return profiles_of(totals(launches), "a trace of torch.profiler", copies_of(launches))


def _is_work(event: dict[str, Any]) -> bool:
    times = (event.get("ts"), event.get("dur"))
    return str(event.get("cat")).lower() in TRACE_WORK and all(_plain(time) is not None for time in times)


def _launch(place: int, event: dict[str, Any], devices: dict[str, dict[str, Any]]) -> Launch:
    """Times in a trace are microseconds."""
    args = event.get("args") if isinstance(event.get("args"), dict) else {}
    gpu = str(args.get("device", event.get("pid", "")))
    device = devices.get(gpu, {})
    major, minor = device.get("computeMajor"), device.get("computeMinor")
    shared = _plain(args.get("shared memory"))  # static and dynamic together
    return Launch(
        name=str(event.get("name")),
        start_ns=1e3 * event["ts"],
        duration_ns=1e3 * event["dur"],
        location=f"event:{place}",
        is_kernel=str(event["cat"]).lower() == "kernel",
        grid=_dimensions(args.get("grid")),
        block=_dimensions(args.get("block")),
        registers=_plain(args.get("registers per thread")),
        static_bytes=None if shared is None else 0.0,
        dynamic_bytes=shared,
        gpu=gpu,
        device=device.get("name"),
        compute_capability=f"{major}.{minor}" if major is not None and minor is not None else None,
    )


def _dimensions(value: Any) -> Dimensions | None:
    sizes = [_plain(size) for size in value] if isinstance(value, list) else []
    return (int(sizes[0]), int(sizes[1]), int(sizes[2])) if len(sizes) == 3 and all(sizes) else None  # type: ignore[arg-type]


def _plain(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None

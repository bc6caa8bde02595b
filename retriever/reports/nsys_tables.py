"""Tables of `nsys stats`: summaries of kernels and of copies, mixed or apart, and the GPU trace, as text, CSV or a table with bars.

A spreadsheet of another locale writes that CSV with semicolons and decimal commas; such a file is read as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from indexer.errors import InputError
from retriever.reports.launch_times import Launch, Total, copies_of, profiles_of, totals
from retriever.reports.nsys_heads import AS_WRITTEN, Table, head_of, is_rule, spans_of, unquoted
from retriever.reports.profile import ProfilesAndNotes
from retriever.reports.source import TextSource
from retriever.reports.table_notes import mixed_note, unread_note
from retriever.reports.units import NumberStyle, number_style

FORM_NAME = "nsys stats"
FORMS = {"trace": "GPU trace", "shapes": "kernel summary", "sum": "kernel summary", "mixed": "GPU summary", "exec": "kernel executions"}
"""Kinds of tables with kernels, the most telling first: a text with several has the same launches in each, so one is used."""
_NO_KERNEL = re.compile(r"^\[?CUDA mem|^\[?CUDA memset|^Mem(?:cpy|set)")

STYLE_ROWS = 1000  # a guess: rows read for the number style; a summary's first row shows it by its share of time
MEGABYTES = ("MB", "MiB")
"""Units of shared memory in which three decimals leave 500 bytes open."""
NAMES = ("Kernel Name", "Operation", "Name")
KERNEL, MEMORY, HOST = "CUDA_KERNEL", "MEMORY_OPER", "CUDA_API"
"""Categories of the mixed summary; the last only in cuda_api_gpu_sum."""


@dataclass(slots=True)
class _Found:
    """What the rows of one text hold."""

    launches: list[Launch] = field(default_factory=list)
    summed: dict[str, list[Total]] = field(default_factory=dict)
    """By kind of table."""
    copies: dict[str, dict[str, float]] = field(default_factory=dict)
    """Nanoseconds by kind of table and name."""
    beside_pct: float = 0.0
    """Share of the rows of a mixed table that are no kernels."""
    coarse: bool = False
    unread: list[int] = field(default_factory=list)
    """Lines of rows that no kernel or copy could be read from."""


def begins(line: str) -> bool:
    """Whether the line is the head of a table of kernels."""
    return (head := head_of(line)) is not None and head.kind != "copies"


def read_nsys(source: TextSource, first: int) -> ProfilesAndNotes:
    """Profiles of the trace where the file has it, else of one summary.

    Raises:
        InputError: no row of a kernel.
    """
    style = number_style(cell for _, _, row in islice(_rows(source, first), STYLE_ROWS) for cell in row)
    found = _Found()
    for number, table, row in _rows(source, first, style):
        _take(found, table, row, number)
    traced = totals(found.launches)
    chosen = "trace" if traced else next((kind for kind in FORMS if found.summed.get(kind)), "")
    if not chosen:
        unread = "".join(f" ({note})" for note in unread_note(found.unread))
        raise InputError(f"{source.name}:{first}: a table of nsys without a row of a kernel{unread}; trace a program that launches one")
    rows = traced or found.summed[chosen]
    copies = copies_of(found.launches) or found.copies.get("copies") or found.copies.get("mixed")
    beside_pct = found.beside_pct if chosen == "mixed" else 0.0
    profiles, notes = profiles_of(rows, f"{FORM_NAME}, {FORMS[chosen]}", copies, beside_pct)
    if style.decimal != AS_WRITTEN.decimal:
        notes += (style.note,)
    if chosen == "mixed":
        notes += mixed_note(profiles)
    return profiles, notes + _limits(chosen, rows, found.coarse) + unread_note(found.unread)


def _limits(chosen: str, rows: list[Total], coarse: bool) -> tuple[str, ...]:
    """What the chosen table does not tell, or tells roughly."""
    if chosen == "trace":
        rough = "shared memory is printed in MB with three decimals, so the block limit by it is approximate"
        return (rough,) if coarse else ()
    lacks = "no registers and no shared memory" if all(total.example for total in rows) else "neither grid nor registers"
    notes = (f"a summary has {lacks}; nsys stats --report cuda_gpu_trace --format csv has both",)
    return (
        ("kernel time in all is the executions times their average, since this table has no total", *notes) if chosen == "exec" else notes
    )


def _take(found: _Found, table: Table, row: list[str], line: int) -> None:
    """Puts a row where it belongs."""
    if table.kind == "trace":
        launch = _launch(table, row, line)
        found.launches += [launch] if launch else []
        found.coarse = found.coarse or bool(launch and launch.is_kernel and _coarse(table, launch))
        return
    category = table.text(row, "Category")
    name = next(filter(None, (table.text(row, column) for column in NAMES)), "")
    whole = table.number(row, "Total Time")
    is_copy = table.kind == "copies" or category == MEMORY or bool(_NO_KERNEL.match(name))
    if category in (MEMORY, HOST):
        found.beside_pct += table.share(row) or 0.0
    if is_copy and name and whole is not None:
        times = found.copies.setdefault(table.kind, {})
        times[name] = times.get(name, 0.0) + whole
    elif not is_copy and category in ("", KERNEL) and (total := _total(table, row, name, line)):
        found.summed.setdefault(table.kind, []).append(total)
    elif category != HOST and row and row[0].strip()[:1].isdigit():
        found.unread.append(line)


def _rows(source: TextSource, first: int, style: NumberStyle = AS_WRITTEN) -> Iterator[tuple[int, Table, list[str]]]:
    """The rows of every table in the file that is read here."""
    table: Table | None = None
    spans: list[tuple[int, int]] = []
    ruled = False
    for number, quoted in source.lines(first):
        line = unquoted(quoted)
        if head := head_of(line):
            table, spans, ruled = replace(head, style=style), [], False
        elif not line.strip():
            table = None if ruled else table  # a CSV may have blank lines, a text table ends with one
        elif table and is_rule(line):
            spans, ruled = spans_of(line.rstrip("\n")), True
        elif table and line.lstrip().startswith(("**", "[", "Processing ", "NOTICE")):
            table = None
        elif table:
            yield number, table, table.cut(line.rstrip("\n"), spans)


def _total(table: Table, row: list[str], name: str, line: int) -> Total | None:
    count, mean = table.number(row, "Instances", "Count"), table.number(row, "Avg", "Average", "KAvg")
    whole = table.number(row, "Total Time") if table.kind != "exec" else mean and count and mean * count
    if not name or not count or whole is None:
        return None
    middle = table.number(row, "Med", "Median", "KMed") or mean or whole / count
    return Total(name, int(count), whole, middle, f"{line}:1", example=_shape(table, row, name, line), share_pct=table.share(row))


def _shape(table: Table, row: list[str], name: str, line: int) -> Launch | None:
    """Grid and block of the summary that has them."""
    grid, block = (re.findall(r"\d+", table.text(row, column)) for column in ("GridXYZ", "BlockXYZ"))
    if len(grid) != 3 or len(block) != 3:
        return None
    return Launch(name, 0.0, 0.0, f"{line}:1", grid=tuple(map(int, grid)), block=tuple(map(int, block)))  # type: ignore[arg-type]


def _launch(table: Table, row: list[str], line: int) -> Launch | None:
    start, duration, name = table.number(row, "Start"), table.number(row, "Duration"), table.text(row, "Name")
    if start is None or duration is None or not name:
        return None
    sides = [table.number(row, f"{what}{axis}") for what in ("Grd", "Blk") for axis in "XYZ"]
    whole = [int(side) for side in sides if side is not None]
    grid, block = (tuple(whole[:3]), tuple(whole[3:])) if len(whole) == 6 else (None, None)
    device = re.sub(r"\s*\(\d+\)$", "", table.text(row, "Device"))
    return Launch(
        name=name,
        start_ns=start,
        duration_ns=duration,
        location=f"{line}:1",
        is_kernel=not _NO_KERNEL.match(name),
        grid=grid,  # type: ignore[arg-type]
        block=block,  # type: ignore[arg-type]
        registers=table.number(row, "Reg/Trd"),
        static_bytes=table.number(row, "StcSMem"),
        dynamic_bytes=table.number(row, "DymSMem"),
        gpu=table.text(row, "Device"),
        device=device or None,
    )


def _coarse(table: Table, launch: Launch) -> bool:
    return table.units.get("StcSMem") in MEGABYTES and bool(launch.static_bytes or launch.dynamic_bytes)

"""Fragment layouts as pictures, answers and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retriever.fragments import Family, Holder, Layout, element, elements, holders

PICTURE_LINES = 16
PICTURE_CELLS = 8
_UNITS = {
    "warp": ("lane", "register"),
    "warpgroup": ("thread", "register"),
    "tensor-memory": ("lane", "column"),
    "shared-memory": ("line", "word"),
}


def picture(layout: Layout) -> str:
    """Which thread and register holds what: one cell for each run of elements in one register, at most 16 lines of 8 cells."""
    high, wide = _run(layout)
    thread_letter = {"warp": "T", "warpgroup": "T", "tensor-memory": "L", "shared-memory": "line "}[layout.unit]
    register_letter = {"tensor-memory": "c", "shared-memory": "w"}.get(layout.unit, "r")
    lines, cells = min(layout.rows // high, PICTURE_LINES), min(layout.columns // wide, PICTURE_CELLS)

    def cell(line: int, place: int) -> str:
        found = holders(layout, line * high, place * wide)[0]
        return f"{thread_letter}{found.thread}:{register_letter}{found.register}"

    grid = [[_span(line, high), *(cell(line, place) for place in range(cells))] for line in range(lines)]
    grid.insert(0, ["row \\ column", *(_span(place, wide) for place in range(cells))])
    widths = [max(len(row[place]) for row in grid) for place in range(cells + 1)]
    text = "\n".join("  ".join(value.rjust(width) for value, width in zip(row, widths)) for row in grid)
    cut = [f"{lines * high} of {layout.rows} rows"] if lines * high < layout.rows else []
    cut += [f"{cells * wide} of {layout.columns} columns"] if cells * wide < layout.columns else []
    return text + (f"\n... ({', '.join(cut)} shown)" if cut else "")


def _span(place: int, size: int) -> str:
    return str(place) if size == 1 else f"{place * size}-{(place + 1) * size - 1}"


def _run(layout: Layout) -> tuple[int, int]:
    """Rows and columns that lie together in one register, lowest bits first."""
    thread = next(filter(layout.holds, range(layout.threads)))
    row, column = layout.place(thread, 0, 0)
    places = [layout.place(thread, 0, part) for part in range(layout.parts)]
    if places == [(row, column + part) for part in range(layout.parts)]:
        return 1, layout.parts
    return (layout.parts, 1) if places == [(row + part, column) for part in range(layout.parts)] else (1, 1)


def layout_text(layout: Layout) -> str:
    """Head, formulas, picture, source."""
    thread, register = _UNITS[layout.unit]
    per = f", {layout.parts} of {layout.bits} bits in each" if layout.parts > 1 else ""
    held = {"tensor-memory": f"{layout.threads} lanes", "shared-memory": f"{layout.threads} lines"}.get(
        layout.unit, f"{layout.threads} threads"
    )
    size = f"{layout.rows} x {layout.columns} in {held}, {layout.registers} {register}s a {thread}{per}"
    lines = [
        f"{layout.name} ({', '.join(layout.types)}): {size}",
        f"row = {layout.row_text}",
        f"column = {layout.column_text}",
        *([f"held where {layout.where}"] if layout.where else []),
        *([f"{layout.copies} copies of each element"] if layout.copies > 1 else []),
        *([f"note: {layout.note}"] if layout.note else []),
    ]
    seen = f"read back on {', '.join(layout.executed)}" if layout.executed else "not read back on a GPU yet"
    return "\n".join((*lines, "", picture(layout), "", f"from {layout.source}; {seen}"))


def element_text(layout: Layout, row: int, column: int) -> str:
    """Who holds an element, one line a copy."""
    return "\n".join(f"{layout.name} element ({row}, {column}): {_place_text(layout, found)}" for found in holders(layout, row, column))


def _place_text(layout: Layout, found: Holder) -> str:
    thread, register = _UNITS[layout.unit]
    second = layout.unit == "tensor-memory" and layout.threads > 128
    who = f"CTA {found.thread // 128}, lane {found.thread % 128}" if second else f"{thread} {found.thread}"
    who += f" (warp {found.thread // 32}, lane {found.thread % 32})" if layout.unit == "warpgroup" else ""
    bits = f", bits {found.low_bit}-{found.high_bit}" if layout.parts > 1 else ""
    return f"{who}, {register} {found.register}{bits}"


def lane_text(layout: Layout, thread: int) -> str:
    """What a thread holds, one line a register."""
    _, register = _UNITS[layout.unit]
    held = ((each, [element(layout, thread, each, part) for part in range(layout.parts)]) for each in range(layout.registers))
    lines = [f"{layout.name}, {_UNITS[layout.unit][0]} {thread}, lowest bits first (row, column):"]
    return "\n".join((*lines, *(f"  {register} {each}: {' '.join(f'({r},{c})' for r, c in places)}" for each, places in held)))


def layout_json(layout: Layout, with_elements: bool = True) -> dict[str, Any]:
    """The layout with its formulas; `elements` holds row and column by thread, register and part, in that order, as two flat lists."""
    fields = (
        "name",
        "instruction",
        "shape",
        "types",
        "operand",
        "unit",
        "threads",
        "rows",
        "columns",
        "registers",
        "parts",
        "bits",
        "copies",
    )
    form: dict[str, Any] = {field: getattr(layout, field) for field in fields} | {
        "row": layout.row_text,
        "column": layout.column_text,
        "where": layout.where,
        "note": layout.note,
        "source": layout.source,
        "executed": layout.executed,
    }
    if with_elements:
        held = list(elements(layout))
        form["elements"] = {
            "threads": sorted({each[0] for each in held}),
            "rows": [each[3] for each in held],
            "columns": [each[4] for each in held],
        }
    return form


def element_json(layout: Layout, row: int, column: int) -> dict[str, Any]:
    """An element's holders."""
    return layout_json(layout, False) | {"element": [row, column], "holders": [found._asdict() for found in holders(layout, row, column)]}


def lane_json(layout: Layout, thread: int) -> dict[str, Any]:
    """What a thread holds: by register, by part, row and column."""
    held = [[element(layout, thread, register, part) for part in range(layout.parts)] for register in range(layout.registers)]
    return layout_json(layout, False) | {"thread": thread, "held": held}


def list_text(families: Sequence[Family]) -> str:
    """All names with their types, one line each."""
    return "\n".join(
        f"{family.name}  {'|'.join(family.entry.types)}" + (f"  {family.entry.note}" if family.entry.note else "") for family in families
    )

"""Descriptors as tables, values as fields, and both as JSON."""

from __future__ import annotations

from typing import Any

from retriever.descriptors import Decoded, Descriptor, expected, span


def descriptor_text(name: str, descriptor: Descriptor, source: str) -> str:
    """Its fields as a table."""
    rows = [("bits", "field", "value", "meaning")]
    for key, field in descriptor.fields.items():
        codes = ", ".join(f"{word} = {code}" for word, code in field.values.items())
        stored = f" (>> {field.shift})" if field.shift else ""
        default = f"; default {field.default}" if field.default is not None else ""
        rows.append((span(field), key, (codes or expected(field)) + stored + default, field.meaning))
    widths = [max(len(row[place]) for row in rows) for place in range(3)]
    lines = ["  ".join((*(cell.ljust(width) for cell, width in zip(row, widths)), row[3])) for row in rows]
    return "\n".join((f"{name}: {descriptor.title}, {descriptor.width} bits ({descriptor.page})", *lines, f"from {source}"))


def decoded_text(name: str, descriptor: Descriptor, value: int, decoded: Decoded) -> str:
    """A value with its fields, and what is wrong with it."""
    rows = [f"  {span(field):>5}  {key} = {decoded.fields[key]}" for key, field in descriptor.fields.items()]
    return "\n".join((f"{name} {value:#0{descriptor.width // 4 + 2}x}", *rows, *(f"  wrong: {each}" for each in decoded.problems)))


def descriptor_json(name: str, descriptor: Descriptor, value: int | None = None, decoded: Decoded | None = None) -> dict[str, Any]:
    """Its fields, and those of a value."""
    form: dict[str, Any] = {"name": name} | descriptor.model_dump(mode="json", exclude={"like"}, by_alias=True)
    if value is not None and decoded is not None:
        form |= {"value": f"{value:#0{descriptor.width // 4 + 2}x}", "decoded": decoded.fields, "problems": list(decoded.problems)}
    return form

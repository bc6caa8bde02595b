"""The schema of `isa/layouts.yaml`; the file's head says what its expressions mean."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from indexer.schema import Strict, Text

Unit = Literal["warp", "warpgroup", "tensor-memory", "shared-memory"]


class Section(Strict):
    """Where a layout's facts come from."""

    title: Text
    """Section of the PTX ISA text."""
    anchor: Text
    also: str = ""
    """What was read where the section has only a figure."""


class Map(Strict):
    """Row and column of an element as expressions."""

    row: Text
    column: Text


class Range(Strict):
    """Values of a shape's parameter."""

    from_: Annotated[int, Field(alias="from")]
    to: int
    step: int


class Entry(Strict):
    """One row of the file: operands of one or more instructions that share shapes and types."""

    of: tuple[Text, ...]
    shape: tuple[Text, ...]
    types: tuple[Text, ...]
    bits: int
    """Of one element."""
    operands: dict[str, tuple[int | str, int | str, int | str, str]]
    """Operand to rows, columns, registers a thread, name of the map."""
    source: Text
    unit: Unit = "warp"
    threads: int = 32
    parts: int | None = None
    """Elements a register; by default as many as fit in its 32 bits (f64: 64)."""
    where: str = ""
    copies: int = 1
    N: Range | tuple[int, ...] = ()
    num: tuple[int, ...] = ()
    note: str = ""
    executed: tuple[str, ...] = ()
    """GPUs on which the layout was read back by a kernel."""

    @field_validator("of", "shape", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    def parameter(self) -> tuple[str, tuple[int, ...]]:
        """Name of the shape's parameter and its values; no name and one value where it has none."""
        if self.num:
            return "num", self.num
        values = tuple(range(self.N.from_, self.N.to + 1, self.N.step)) if isinstance(self.N, Range) else self.N
        return ("N", values) if values else ("", (0,))


class Table(Strict):
    """The whole file."""

    schema_version: Annotated[int, Field(alias="schema")]
    url: Text
    revision: Text
    sources: dict[str, Section]
    maps: dict[str, Map]
    layouts: Annotated[tuple[Entry, ...], Field(min_length=1)]

"""Fragment layouts, `isa/layouts.yaml`: which thread, register and bits hold element (i, j), and the reverse. Imports no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

import yaml
from pydantic import ValidationError

from indexer.errors import CorpusError, InputError
from retriever.arithmetic import compiled
from retriever.fragment_table import Entry, Map, Table

FILE = "isa/layouts.yaml"
REGISTER_BITS = 32
NAMES = ("thread", "reg", "part", "parts", "i", "N", "num")


class Holder(NamedTuple):
    """Where an element is."""

    thread: int
    """Lane of the warp, thread of the warpgroup, lane of tensor memory (128 and up: the second CTA), or line of shared memory."""
    register: int
    """Register of the operand's vector; in tensor memory the column, in shared memory the 32-bit word of the line."""
    low_bit: int
    high_bit: int
    """Bits of the register, both inclusive."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """One operand of one instruction in one shape, parameters bound."""

    name: str
    instruction: str
    shape: str
    types: tuple[str, ...]
    operand: str
    unit: str
    threads: int
    rows: int
    columns: int
    registers: int
    parts: int
    bits: int
    copies: int
    row_text: str
    column_text: str
    where: str
    note: str
    source: str
    executed: tuple[str, ...]
    place: Callable[[int, int, int], tuple[int, int]]
    """Thread, register, part to row and column."""
    holds: Callable[[int], bool]
    """Whether the thread holds anything."""


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """The layouts of one operand over the values of a shape's parameter."""

    entry: Entry
    map: Map
    source: str
    instruction: str
    shape: str
    operand: str

    @property
    def name(self) -> str:
        """`instruction.shape.type.operand`, the parameter in braces."""
        return f"{self.instruction}.{self.shape}.{self.entry.types[0]}.{self.operand}"

    def at(self, value: int | None = None, element_type: str = "") -> Layout:
        """The layout for one value of the parameter, named by one of its types; without a value, for the largest.

        Raises:
            InputError: the parameter has no such value.
        """
        key, values = self.entry.parameter()
        value = values[-1] if value is None else value
        if value not in values:
            raise InputError(f"{self.name}: {key} is {_listed(values)}, not {value}")
        return _bound(self, key, value, element_type or self.entry.types[0])


def _bound(family: Family, key: str, value: int, element_type: str) -> Layout:
    entry, bits = family.entry, family.entry.bits
    shape = family.shape.replace(f"{{{key}}}", str(value)) if key else family.shape
    number = {"N": value if key == "N" else 0, "num": value if key == "num" else 0}
    rows, columns, registers = (compiled(str(each), ("N", "num"))(**number) for each in entry.operands[family.operand][:3])
    parts = entry.parts or max(REGISTER_BITS // bits, 1)
    row, column = (compiled(text, NAMES) for text in (family.map.row, family.map.column))
    where = compiled(entry.where or "1", NAMES)

    def place(thread: int, register: int, part: int) -> tuple[int, int]:
        values = (thread, register, part, parts, register * parts + part, number["N"], number["num"])
        return row(*values), column(*values)

    return Layout(
        f"{family.instruction}.{shape}.{element_type}.{family.operand}",
        family.instruction,
        shape,
        entry.types,
        family.operand,
        entry.unit,
        entry.threads,
        rows,
        columns,
        registers,
        parts,
        bits,
        entry.copies,
        family.map.row,
        family.map.column,
        entry.where,
        entry.note,
        family.source,
        entry.executed,
        place,
        lambda thread: bool(where(thread, 0, 0, parts, 0, number["N"], number["num"])),
    )


@lru_cache(maxsize=4)
def layouts(root: Path) -> tuple[Family, ...]:
    """Every layout of the corpus, in the file's order.

    Raises:
        CorpusError: the file breaks its schema.
    """
    try:
        table = Table.model_validate(yaml.safe_load((root / FILE).read_text(encoding="utf-8")))
        return tuple(
            Family(entry, table.maps[spec[3]], _source_text(table, entry), instruction, shape, operand)
            for entry in table.layouts
            for instruction, shape in product(entry.of, entry.shape)
            for operand, spec in entry.operands.items()
        )
    except ValidationError as error:
        raise CorpusError([f"{FILE}:1: {'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]) from error
    except KeyError as error:
        raise CorpusError([f"{FILE}:1: no map or source {error}"]) from error
    except (OSError, yaml.YAMLError) as error:
        raise CorpusError([f"{FILE}:1: cannot be read ({error})"]) from error


def _source_text(table: Table, entry: Entry) -> str:
    section = table.sources[entry.source]
    also = f"; {section.also}" if section.also else ""
    return f'PTX ISA {table.revision}, section "{section.title}", {table.url}#{section.anchor}{also}'


def _listed(values: tuple[int, ...]) -> str:
    steps = {after - before for before, after in pairwise(values)}
    return f"{values[0]} to {values[-1]} in steps of {steps.pop()}" if len(values) > 8 and len(steps) == 1 else ", ".join(map(str, values))


def element(layout: Layout, thread: int, register: int, part: int = 0) -> tuple[int, int]:
    """Row and column of the element that a thread holds in a part of a register.

    Raises:
        InputError: there is no such thread, register or part, or the thread holds nothing.
    """
    for what, value, limit in (("thread", thread, layout.threads), ("register", register, layout.registers), ("part", part, layout.parts)):
        if not 0 <= value < limit:
            raise InputError(f"{layout.name}: {what} is 0 to {limit - 1}, not {value}")
    if not layout.holds(thread):
        raise InputError(f"{layout.name}: thread {thread} holds nothing (holders: {layout.where})")
    return layout.place(thread, register, part)


def holders(layout: Layout, row: int, column: int) -> list[Holder]:
    """Every place of an element, lowest thread first; one, unless the layout has copies.

    Raises:
        InputError: the element lies outside of the tile.
    """
    if not (0 <= row < layout.rows and 0 <= column < layout.columns):
        raise InputError(f"{layout.name}: the tile is {layout.rows} x {layout.columns}; there is no element {row},{column}")
    return _inverse(layout)[row, column]


def holder(layout: Layout, row: int, column: int) -> Holder:
    """The first place of an element."""
    return holders(layout, row, column)[0]


def elements(layout: Layout) -> Iterator[tuple[int, int, int, int, int]]:
    """`(thread, register, part, row, column)` of everything that is held, in that order."""
    for thread in filter(layout.holds, range(layout.threads)):
        for register, part in product(range(layout.registers), range(layout.parts)):
            yield (thread, register, part, *layout.place(thread, register, part))


@lru_cache(maxsize=32)
def _inverse(layout: Layout) -> dict[tuple[int, int], list[Holder]]:
    found: dict[tuple[int, int], list[Holder]] = {}
    for thread, register, part, row, column in elements(layout):
        found.setdefault((row, column), []).append(Holder(thread, register, part * layout.bits, (part + 1) * layout.bits - 1))
    return found


def problems(layout: Layout) -> list[str]:
    """Why the layout is not what it says: elements outside of the tile, held by nobody, or not as often as it says."""
    found = _inverse(layout)
    outside = [place for place in found if not (0 <= place[0] < layout.rows and 0 <= place[1] < layout.columns)]
    missing = [place for place in product(range(layout.rows), range(layout.columns)) if place not in found]
    wrong = [place for place, where in found.items() if len(where) != layout.copies]
    texts = ((outside, "outside of the tile"), (missing, "held by nobody"), (wrong, f"not held {layout.copies} times"))
    return [f"{layout.name}: {len(places)} elements {text}, the first {places[0]}" for places, text in texts if places]


def all_problems(root: Path) -> list[str]:
    """What is wrong with the file: every layout, families at their smallest, middle and largest parameter."""
    found = []
    for family in layouts(root):
        values = family.entry.parameter()[1]
        for value in sorted({values[0], values[len(values) // 2], values[-1]}):
            try:
                found += problems(family.at(value))
            except (ValueError, TypeError) as error:
                found.append(f"{family.name}: {error}")
    return [f"{FILE}:1: {text}" for text in found]

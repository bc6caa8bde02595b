"""Fragment layouts found by name: parts in any number, or an instruction as spelled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from indexer.errors import InputError, nearest
from retriever.fragments import Family, Layout

SILENT = {"sync", "aligned", "row", "col", "shared", "shared::cta", "b8x16", "warpx4", "ordered_metadata", "satfinite"}
"""Modifiers of a spelled-out instruction that do not change a layout."""
HEADS = {"mma": "mma.sync", "wgmma": "wgmma.mma_async"}
CHANGING = {"trans", "pack::16b"}
"""Modifiers of a shape that do."""
OPERANDS = {"A", "B", "C", "D", "E", "SF", "SFA", "SFB"}
TYPES = {"f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s4", "u4", "b1", "s32", "b8", "b16", "b32", "e4m3", "e5m2", "e3m2", "e2m3"} | {
    *("e2m1", "ue8m0", "ue4m3", "f8f6f4", "mxf8f6f4", "i8", "mxf4", "mxf4nvf4", "b6x16_p32", "b4x16_p64")
}
_PLACE_OF_TYPE = {"A": 1, "E": 1, "B": 2}
"""Where a spelled-out product names an operand's type; D's, and C's, comes first."""


def find(name: str, families: Sequence[Family]) -> list[Layout]:
    """The layouts that a name stands for: instruction, shape, type and operand, dots between, any but the first left out.

    A spelled-out instruction counts too. Without a number for the parameter (`m64nNk16`) a family is shown at its largest. What the name
    does not say to be transposed or packed is not, where both exist.

    Raises:
        InputError: none is; the nearest names are listed.
    """
    head, words = _split(name, families)
    asked = _sorted_words(words)
    matching = [(family, value) for family in families if family.instruction == head and (value := _match(family, asked)) is not None]
    if asked.shape:
        fewest = min((_unsaid(family, asked) for family, _ in matching), default=0)
        matching = [(family, value) for family, value in matching if _unsaid(family, asked) == fewest]
    if not matching:
        raise InputError(f'no fragment layout "{name}"; {_help(name, head, families)}. `warplore isa layout` lists all')
    allowed = [(family, value) for family, value in matching if value == 0 or value in family.entry.parameter()[1]]
    return [family.at(value or None, _named_type(family, asked.types)) for family, value in allowed or matching]


class _Asked(NamedTuple):
    """The parts of a name by what they are."""

    shape: tuple[str, ...]
    types: tuple[str, ...]
    operands: tuple[str, ...]


def _split(name: str, families: Sequence[Family]) -> tuple[str, list[str]]:
    """The instruction that a name begins with, and its other parts in order."""
    text = re.sub(r"[\s;,{}\[\]()]+", ".", name.strip()).strip(".").replace("sp::ordered_metadata", "sp")
    for head in sorted({family.instruction for family in families} | set(HEADS), key=len, reverse=True):
        if text.lower() == head or text.lower().startswith(f"{head}."):
            return HEADS.get(head, head), [part for part in text[len(head) :].split(".") if part]
    return "", []


def _sorted_words(words: list[str]) -> _Asked:
    types = tuple(word.lower() for word in words if word.lower() in TYPES)
    operands = tuple("D" if word.upper() == "C" else word.upper() for word in words if word.upper() in OPERANDS)
    shape = tuple(word for word in words if word.lower() not in SILENT | TYPES and word.upper() not in OPERANDS)
    return _Asked(shape, types, operands)


def _match(family: Family, asked: _Asked) -> int | None:
    """The parameter's value that the name gives, 0 without one; None where the family is not meant."""
    if (asked.operands and family.operand not in asked.operands) or not _type_fits(family, asked.types):
        return None
    parts, value = _shape_parts(family), 0
    for word in asked.shape:
        match = next((match for part in parts if (match := part.fullmatch(word))), None)
        if not match:
            return None
        value = int(match[1]) if match.groups() and match[1].isdigit() else value
    return value


def _shape_parts(family: Family) -> list[re.Pattern[str]]:
    """The parts of a shape; a parameter's name or a number stands for it."""
    parameter = family.entry.parameter()[0]
    hole = re.escape(f"{{{parameter}}}") if parameter else ""
    escaped = (re.escape(part) for part in family.shape.split("."))
    return [re.compile(part.replace(hole, rf"(\d+|{parameter})") if hole else part, re.I) for part in escaped]


def _unsaid(family: Family, asked: _Asked) -> int:
    return sum(part in CHANGING and part not in asked.shape for part in family.shape.split("."))


def _help(name: str, head: str, families: Sequence[Family]) -> str:
    if not head:
        return f"a name begins with one of {', '.join(sorted({family.instruction for family in families}))}"
    close = nearest(name, list(dict.fromkeys(family.name for family in families if family.instruction == head)), limit=4)
    return f"nearest: {', '.join(close) or 'none'}"


def _type_fits(family: Family, types: tuple[str, ...]) -> bool:
    return not types or _asked_type(family, types) in family.entry.types


def _named_type(family: Family, types: tuple[str, ...]) -> str:
    return _asked_type(family, types) if types else ""


def _asked_type(family: Family, types: tuple[str, ...]) -> str:
    """One type is the operand's; three or more are those of a spelled-out product, d, a, b, c and that of the scale factors."""
    if len(types) < 3:
        return types[0]
    return types[-1] if family.operand.startswith("SF") else types[_PLACE_OF_TYPE.get(family.operand, 0)]

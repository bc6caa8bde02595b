"""Arithmetic on what the 32 lanes of a warp hold: one integer where all agree, 32 integers, a pointer, or unknown data."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

LANES = 32
SECTOR_BYTES = 32
"""Unit in which global memory is fetched."""
BANKS = 32
WORD_BYTES = 4

Lanes = tuple[int, ...]
"""One integer a lane."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address: lanes may hold different offsets into the same array."""

    base: str
    space: str
    """global, shared or local."""
    offset: int | Lanes | None
    """In bytes; None where it depends on data."""
    element_bytes: int
    dims: tuple[int, ...] = (0,)
    """Sizes of the dimensions still to be subscripted; a plain pointer has one of unknown size, 0."""


Value = int | Lanes | Pointer | None
"""None is data: different in each lane, and unknown."""

MAX_MAGNITUDE = 1 << 62

_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: int(a / b) if abs(a) < 1 << 50 and b else a // b if b else 0,
    "%": lambda a, b: a % b if b else 0,
    "<<": lambda a, b: a << min(max(b, 0), 62),
    ">>": lambda a, b: a >> min(max(b, 0), 62),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "&&": lambda a, b: int(bool(a) and bool(b)),
    "||": lambda a, b: int(bool(a) or bool(b)),
}


def combine(operator: str, left: int | Lanes | None, right: int | Lanes | None) -> int | Lanes | None:
    """The operator applied lane by lane; data where an operand is data or the operator is unknown."""
    operation = _OPERATORS.get(operator)
    if operation is None or left is None or right is None:
        return None
    if isinstance(left, int) and isinstance(right, int):
        return _bounded(operation(left, right))
    pairs = zip(spread(left), spread(right), strict=True)
    return _uniform(tuple(_bounded(operation(a, b)) for a, b in pairs))


def spread(value: int | Lanes) -> Lanes:
    """The value of every lane."""
    return (value,) * LANES if isinstance(value, int) else value


def select(condition: int | Lanes | None, yes: Value, no: Value) -> Value:
    """`condition ? yes : no`, lane by lane."""
    if isinstance(condition, int):
        return yes if condition else no
    if condition is None or not isinstance(yes, int | tuple) or not isinstance(no, int | tuple):
        return yes if isinstance(yes, Pointer) else None
    return _uniform(tuple(a if c else b for c, a, b in zip(condition, spread(yes), spread(no), strict=True)))


def integer(literal: str) -> int:
    """The value of a C++ number literal, a floating one cut to an integer; 0 where it is neither."""
    text = literal.replace("'", "")
    if re.fullmatch(r"0[xX][0-9a-fA-F]+[uUlLzZ]*", text):
        return _bounded(int(text.rstrip("uUlLzZ"), 16))
    if whole := re.fullmatch(r"(\d+)[uUlLzZ]*", text):
        return _bounded(int(whole[1][:20]))
    try:
        return _bounded(int(float(text.rstrip("fFlLhH"))))
    except (ValueError, OverflowError):
        return 0


def sectors(offsets: list[int], size: int) -> int:
    """32-byte sectors that accesses of `size` bytes at these offsets touch."""
    return len({part for at in offsets for part in range(at // SECTOR_BYTES, (at + size - 1) // SECTOR_BYTES + 1)})


def bank_conflict_degree(offsets: list[int], size: int) -> int:
    """How often the busiest bank must be read for one access; 1 is none. Wide accesses go in groups of 128 bytes."""
    group = max(1, BANKS * WORD_BYTES // max(size, WORD_BYTES))
    degree = 1
    for first in range(0, len(offsets), group):
        words = {w for at in offsets[first : first + group] for w in range(at // WORD_BYTES, (at + size - 1) // WORD_BYTES + 1)}
        banks = [word % BANKS for word in words]
        degree = max(degree, max((banks.count(bank) for bank in set(banks)), default=1))
    return degree


def _bounded(value: int) -> int:
    return value if -MAX_MAGNITUDE < value < MAX_MAGNITUDE else 0


def _uniform(lanes: Lanes) -> int | Lanes:
    return lanes[0] if all(lane == lanes[0] for lane in lanes) else lanes

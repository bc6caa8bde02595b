"""Operand types of register instructions: width, asm constraint, float lanes, and the values worth trying."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .numbers import BF16, E4M3, E5M2, F16, F32, F64, Format

PRODUCT_LIMIT = 700
"""All combinations of edge values up to this many; a drawn sample of as many above."""
DRAWN = 160
"""Further cases of random bits."""


@dataclass(frozen=True, slots=True)
class Type:
    """An operand type."""

    width: int
    form: Format | None = None
    """Of each float lane; None for integers and plain bits."""

    @property
    def constraint(self) -> str:
        return {16: "h", 32: "r", 64: "l"}[self.width]

    @property
    def ctype(self) -> str:
        return f"u{self.width}"

    @property
    def lanes(self) -> int:
        return self.width // self.form.width if self.form else 1


TYPES = {
    **{f"{letter}{width}": Type(width) for letter in "bus" for width in (16, 32, 64)},
    "f16": Type(16, F16),
    "bf16": Type(16, BF16),
    "f32": Type(32, F32),
    "f64": Type(64, F64),
    "f16x2": Type(32, F16),
    "bf16x2": Type(32, BF16),
    "e4m3x2": Type(16, E4M3),
    "e5m2x2": Type(16, E5M2),
}


def integer_edges(width: int) -> list[int]:
    """Around 0, the register size, each byte and half boundary, and the signed limits."""
    mask = (1 << width) - 1
    small = [0, 1, 2, 3, 7, 8, 15, 16, 24, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0xFFFFFF, 0x800000]
    large = [
        1 << (width - 1),
        (1 << (width - 1)) - 1,
        (1 << (width - 1)) + 1,
        mask,
        mask - 1,
        mask - 31,
        0x123456789ABCDEF0 >> (64 - width),
    ]
    return list(dict.fromkeys(v & mask for v in (*small, *large)))


def float_edges(form: Format) -> list[int]:
    """Zeros, ones, the ends of the subnormal and normal ranges, ties, infinities, quiet NaNs."""
    one = form.bias << form.mantissa_bits
    least_normal = 1 << form.mantissa_bits
    half = 1 << (form.mantissa_bits - 1)
    positive = [0, 1, least_normal - 1, least_normal, one - 1, one, one + 1, one | half, one + least_normal, one + least_normal + half + 1]
    positive += [one - least_normal, form.largest_bits, form.largest_bits - 1]
    if form.infinity:
        positive += [form.infinity_bits, form.infinity_bits | half]
    else:
        positive += [form.nan_bits]
    sign = 1 << (form.width - 1)
    return [*positive, *(bits | sign for bits in positive)]


F32_EXTRA = [
    0x3DCCCCCD,
    0x40490FDB,
    0x477FE000,
    0x477FF000,
    0x477FEFFF,
    0x3F808000,
    0x3F818000,
    0x3F808001,
    0x3F801000,
    0x43E00000,
    0x43E80000,
    0x43E80001,
    0x33800000,
    0x33000000,
    0x33000001,
    0x4B800001,
    0x4EFFFFFF,
    0x4F000000,
    0xCF000000,
    0x4F7FFFFF,
    0x4F800000,
    0x40200000,
    0xC0200000,
    0x3F000000,
    0xBF000000,
    0x3EFFFFFF,
    0x40600000,
    0x42FF0000,
    0x437F8000,
    0x7F7F8000,
]
"""Ties and limits of narrower formats and of integers, seen from f32: 65504, 65520, 448, 464, 2^31, 2.5, 255.5 ..."""


def edges(name: str) -> list[int]:
    """Values of a type that tend to go wrong; packed types hold pairs of them."""
    kind = TYPES[name]
    if kind.form is None:
        return integer_edges(kind.width)
    values = float_edges(kind.form) + (F32_EXTRA if name == "f32" else [])
    if kind.lanes == 1:
        return values
    shift = kind.form.width
    return [low | high << shift for low, high in zip(values, values[7:] + values[:7])]


def seeded(name: str) -> np.random.Generator:
    """A generator that a name alone decides."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def default_cases(name: str, types: Sequence[str]) -> np.ndarray:
    """`(cases, operands) uint64`: edge values in all combinations, or a sample, then random bits and random moderate values."""
    rng = seeded(name)
    columns = [edges(each) for each in types]
    count = int(np.prod([len(column) for column in columns]))
    if count <= PRODUCT_LIMIT:
        rows = list(itertools.product(*columns))
    else:
        rows = [tuple(column[rng.integers(len(column))] for column in columns) for _ in range(PRODUCT_LIMIT)]
    drawn = np.stack([random_bits(rng, TYPES[each], DRAWN) for each in types], axis=1)
    return np.concatenate([np.array(rows, dtype=np.uint64), drawn])


def random_bits(rng: np.random.Generator, kind: Type, count: int) -> np.ndarray:
    """`(count,) uint64`: half random bits, half (for floats) signs and mantissas with exponents near one."""
    bits = rng.integers(0, 2**64, count, dtype=np.uint64) >> np.uint64(64 - kind.width)
    if kind.form is None:
        return bits
    out = bits.copy()
    for lane in range(kind.lanes):
        shift = lane * kind.form.width
        field = ((1 << kind.form.exponent_bits) - 1) << (kind.form.mantissa_bits + shift)
        near = (np.uint64(kind.form.bias) + rng.integers(0, 5, count).astype(np.uint64) - np.uint64(2)) << np.uint64(
            kind.form.mantissa_bits + shift
        )
        mask = np.uint64(~field & (2**64 - 1))
        out[::2] = ((out & mask) | near)[::2]
    return out


def agree(name: str, got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Per case: equal bits, or in each float lane NaN on both sides."""
    kind = TYPES[name]
    mask = np.uint64((1 << kind.width) - 1)
    got, want = got & mask, want & mask
    if kind.form is None:
        return got == want
    same = np.ones(got.shape, dtype=bool)
    lane_mask = np.uint64((1 << kind.form.width) - 1)
    for lane in range(kind.lanes):
        shift = np.uint64(lane * kind.form.width)
        a, b = (got >> shift) & lane_mask, (want >> shift) & lane_mask
        same &= (a == b) | (nan_mask(kind.form, a) & nan_mask(kind.form, b))
    return same


def nan_mask(form: Format, bits: np.ndarray) -> np.ndarray:
    """Which patterns are NaN."""
    magnitude = bits & np.uint64(form.nan_bits)
    return magnitude > np.uint64(form.infinity_bits) if form.infinity else magnitude == np.uint64(form.nan_bits)

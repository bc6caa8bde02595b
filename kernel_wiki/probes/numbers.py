"""Floating-point formats in exact rational arithmetic: what an instruction ought to round to, with no help from the host's own floats.

A value is a float when it is NaN, infinite or a signed zero, else a Fraction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

Value = float | Fraction


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format with a sign bit; without infinity only the all-ones pattern is NaN (e4m3)."""

    exponent_bits: int
    mantissa_bits: int
    infinity: bool = True

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def width(self) -> int:
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def infinity_bits(self) -> int:
        return ((1 << self.exponent_bits) - 1) << self.mantissa_bits

    @property
    def nan_bits(self) -> int:
        return (1 << (self.width - 1)) - 1

    @property
    def largest_bits(self) -> int:
        return (self.infinity_bits if self.infinity else self.nan_bits) - 1

    def is_nan(self, bits: int) -> bool:
        magnitude = bits & self.nan_bits
        return magnitude > self.infinity_bits if self.infinity else magnitude == self.nan_bits


F16, BF16, F32, F64 = Format(5, 10), Format(8, 7), Format(8, 23), Format(11, 52)
TF32, E5M2, E4M3 = Format(8, 10), Format(5, 2), Format(4, 3, infinity=False)


def decode(form: Format, bits: int) -> Value:
    """The value of a bit pattern."""
    sign = -1 if bits >> (form.width - 1) & 1 else 1
    magnitude = bits & form.nan_bits
    if form.is_nan(bits):
        return math.nan
    if form.infinity and magnitude == form.infinity_bits:
        return sign * math.inf
    if magnitude == 0:
        return sign * 0.0
    exponent, mantissa = magnitude >> form.mantissa_bits, magnitude & ((1 << form.mantissa_bits) - 1)
    mantissa += (1 << form.mantissa_bits) if exponent else 0
    return sign * mantissa * Fraction(2) ** (max(exponent, 1) - form.bias - form.mantissa_bits)


def encode(form: Format, value: Value, rounding: str = "rn", satfinite: bool = False) -> int:
    """The bits of `value` rounded to `form`; rn to even, rna away from zero on ties, rz, rm down, rp up."""
    if isinstance(value, float) and math.isnan(value):
        return form.nan_bits
    negative = is_negative(value)
    sign = negative << (form.width - 1)
    if value == 0:
        return sign
    if isinstance(value, float):
        return sign | (form.largest_bits if satfinite else form.infinity_bits)
    magnitude = abs(value)
    exponent = max(floor_log2(magnitude), 1 - form.bias)
    quotient = magnitude / Fraction(2) ** (exponent - form.mantissa_bits)
    count = round_integer(quotient, rounding, negative)
    # Counting in units of the last place, the carry into the exponent is the addition's own.
    bits = count + ((exponent + form.bias - 1) << form.mantissa_bits)
    if bits > form.largest_bits:
        away = rounding in ("rn", "rna") or rounding == ("rm" if negative else "rp")
        bits = form.infinity_bits if form.infinity and away and not satfinite else form.largest_bits
    return sign | bits


def round_integer(value: Fraction, rounding: str, negative: bool = False) -> int:
    """A non-negative value to an integer; `negative` says which way down and up are."""
    whole, rest = divmod(value, 1)
    half = Fraction(1, 2)
    up = {
        "rn": rest > half or (rest == half and whole % 2 == 1),
        "rna": rest >= half,
        "rz": False,
        "rm": rest > 0 and negative,
        "rp": rest > 0 and not negative,
    }[rounding]
    return int(whole) + up


def floor_log2(value: Fraction) -> int:
    """The exponent of the leading bit of a positive value."""
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1


def is_negative(value: Value) -> bool:
    """The sign bit."""
    return math.copysign(1.0, value) < 0 if isinstance(value, float) else value < 0


def is_finite(value: Value) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def add(a: Value, b: Value, rounding: str = "rn") -> Value:
    """The exact sum; an exact zero of unlike signs is +0, or -0 when rounding down."""
    if not (is_finite(a) and is_finite(b)):
        return (a if not is_finite(a) else 0.0) + (b if not is_finite(b) else 0.0)
    if total := Fraction(a) + Fraction(b):
        return total
    if a == 0 and is_negative(a) == is_negative(b):
        return -0.0 if is_negative(a) else 0.0
    return -0.0 if rounding == "rm" else 0.0


def negate(a: Value) -> Value:
    return -a


def mul(a: Value, b: Value) -> Value:
    """The exact product."""
    sign = -1.0 if is_negative(a) != is_negative(b) else 1.0
    if any(isinstance(v, float) and math.isnan(v) for v in (a, b)):
        return math.nan
    if not (is_finite(a) and is_finite(b)):
        return math.nan if a == 0 or b == 0 else sign * math.inf
    return Fraction(a) * Fraction(b) or sign * 0.0


def div(a: Value, b: Value) -> Value:
    """The exact quotient."""
    sign = -1.0 if is_negative(a) != is_negative(b) else 1.0
    if any(isinstance(v, float) and math.isnan(v) for v in (a, b)) or (a == 0 and b == 0):
        return math.nan
    if not is_finite(b):
        return sign * 0.0 if is_finite(a) else math.nan
    if b == 0 or not is_finite(a):
        return sign * math.inf
    return Fraction(a) / Fraction(b) or sign * 0.0


def fma(a: Value, b: Value, c: Value, rounding: str = "rn") -> Value:
    """The exact a * b + c."""
    return add(mul(a, b), c, rounding)


def sqrt(a: Value) -> Value:
    """The square root to some 600 bits, with a last bit that keeps it off every tie when it is inexact."""
    if a == 0 or (isinstance(a, float) and (math.isnan(a) or a == math.inf)):
        return a
    if is_negative(a):
        return math.nan
    scale = 600
    square = Fraction(a) * 4**scale  # an integer: the least f64 is 2**-1074
    root = math.isqrt(square.numerator // square.denominator)
    inexact = root * root != square
    return Fraction(2 * root + inexact, 2 ** (scale + 1))


def smallest(a: Value, b: Value, sign: int = 1, keep_nan: bool = False) -> Value:
    """min (`sign` 1) or max (-1): a NaN loses unless `keep_nan`, and -0 is less than +0."""
    nans = [isinstance(v, float) and math.isnan(v) for v in (a, b)]
    if any(nans):
        return math.nan if keep_nan or all(nans) else (b if nans[0] else a)
    first = (a < b) if a != b else is_negative(a)
    return a if first == (sign > 0) else b


def saturate(value: Value) -> Value:
    """Clamped to [0, 1]; NaN gives 0."""
    if isinstance(value, float) and math.isnan(value):
        return 0.0
    return 0.0 if is_negative(value) or value == 0 else Fraction(1) if value > 1 else value


def flush(value: Value, form: Format = F32) -> Value:
    """Subnormal values of `form` become zero of the same sign."""
    if value != 0 and is_finite(value) and abs(value) < Fraction(2) ** (1 - form.bias):
        return -0.0 if is_negative(value) else 0.0
    return value


def clamp_integer(value: Value, rounding: str, low: int, high: int) -> int:
    """Float to integer as cvt does it: rounded, saturated, NaN to 0."""
    if isinstance(value, float):
        return 0 if math.isnan(value) or value == 0 else high if value > 0 else low
    negative = value < 0
    whole = round_integer(abs(value), rounding, negative)
    return min(max(-whole if negative else whole, low), high)

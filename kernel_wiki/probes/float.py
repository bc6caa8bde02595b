"""f32 and f64 arithmetic, exactly rounded and approximate."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from . import numbers
from .chains import chain
from .numbers import F32, F64, Format, Value, decode, encode, flush
from .probe import Approximate, Probe

F, M, H = "isa/float/", "isa/math/", "isa/half/"
SIGN = 1 << 31


def rounded(function, form: Format = F32, rounding: str = "rn", ftz: bool = False, sat: bool = False):
    """Patterns to values, the exact result, one rounding."""

    def model(*bits: int) -> int:
        values = [decode(form, each) for each in bits]
        exact: Value = function(*(map(flush, values) if ftz else values))
        if sat:
            exact = numbers.saturate(exact)
        result = encode(form, exact, rounding)
        return encode(form, flush(decode(form, result))) if ftz else result

    return model


def add_in(rounding: str):
    return lambda a, b: numbers.add(a, b, rounding)


def fma_in(rounding: str):
    return lambda a, b, c: numbers.fma(a, b, c, rounding)


def subtract(a: Value, b: Value) -> Value:
    return numbers.add(a, numbers.negate(b))


def reciprocal(a: Value) -> Value:
    return numbers.div(Fraction(1), a)


def minimum(sign: int, keep_nan: bool = False):
    return lambda a, b: numbers.smallest(a, b, sign, keep_nan)


def xorsign_max(a: int, b: int) -> int:
    """The larger magnitude under the product of the signs."""
    return max(a & ~SIGN, b & ~SIGN) | (a ^ b) & SIGN


def is_number(*bits: int) -> bool:
    return not any(F32.is_nan(each) for each in bits)


def values(*bits: int) -> list[Value]:
    return [decode(F32, each) for each in bits]


def not_at_the_flush_limit(*bits: int) -> bool:
    """Whether the result is not one that only rounding lifts out of the subnormal range: nobody says whether that is flushed."""
    exact = numbers.fma(*map(flush, values(*bits)))
    return decode(F32, encode(F32, flush(exact))) == decode(F32, encode(F32, exact)) or flush(decode(F32, encode(F32, exact))) == 0


def testp(kind: str):
    """The class test on a pattern; zeros count as normal."""

    def model(bits: int) -> int:
        magnitude = bits & ~SIGN
        nan, infinite = magnitude > F32.infinity_bits, magnitude == F32.infinity_bits
        subnormal = 0 < magnitude < 1 << F32.mantissa_bits
        return int(
            {
                "finite": not (nan or infinite),
                "infinite": infinite,
                "number": not nan,
                "notanumber": nan,
                "normal": not (nan or infinite or subnormal),
                "subnormal": subnormal,
            }[kind]
        )

    return model


def approximate(isa: str, name: str, kind: str, truth, limit: float, low: float, high: float, **how) -> Probe:
    return Probe(isa, name, f"{name} %0, %1;", kind, kind, approximate=Approximate(truth, limit, low=low, high=high, **how))


def special(isa: str, name: str, table: dict[int, int], kind: str = "f32") -> Probe:
    """An approximate instruction where its result is exact: infinities, zeros, NaN."""
    rows = np.array(sorted(table), dtype=np.uint64)[:, None]
    return Probe(isa, f"{name} special values", f"{name} %0, %1;", kind, kind, lambda bits: table[bits], cases=lambda: rows)


ONE, INF, NAN, NEG_INF, NEG_ZERO = 0x3F800000, 0x7F800000, 0x7FFFFFFF, 0xFF800000, SIGN

PROBES = (
    *(
        Probe(F + "add.f32", f"add.{r}.f32", f"add.{r}.f32 %0, %1, %2;", "f32", "f32 f32", rounded(add_in(r), rounding=r))
        for r in ("rn", "rz", "rm", "rp")
    ),
    Probe(F + "add.f32", "add.ftz.f32", "add.ftz.f32 %0, %1, %2;", "f32", "f32 f32", rounded(numbers.add, ftz=True)),
    Probe(
        F + "add.f32",
        "add.sat.f32",
        "add.sat.f32 %0, %1, %2;",
        "f32",
        "f32 f32",
        rounded(numbers.add, sat=True),
        keep=lambda *v: numbers.add(*values(*v)) != 0,
    ),
    Probe(F + "sub.f32", "sub.rn.f32", "sub.rn.f32 %0, %1, %2;", "f32", "f32 f32", rounded(subtract)),
    *(
        Probe(F + "mul.f32", f"mul.{r}.f32", f"mul.{r}.f32 %0, %1, %2;", "f32", "f32 f32", rounded(numbers.mul, rounding=r))
        for r in ("rn", "rz", "rp")
    ),
    *(
        Probe(M + "fma", f"fma.{r}.f32", f"fma.{r}.f32 %0, %1, %2, %3;", "f32", "f32 f32 f32", rounded(fma_in(r), rounding=r))
        for r in ("rn", "rz", "rm")
    ),
    Probe(
        M + "fma",
        "fma.rn.ftz.f32",
        "fma.rn.ftz.f32 %0, %1, %2, %3;",
        "f32",
        "f32 f32 f32",
        rounded(numbers.fma, ftz=True),
        keep=not_at_the_flush_limit,
    ),
    Probe(
        M + "fma",
        "fma.rn.sat.f32",
        "fma.rn.sat.f32 %0, %1, %2, %3;",
        "f32",
        "f32 f32 f32",
        rounded(numbers.fma, sat=True),
        keep=lambda *v: numbers.fma(*values(*v)) != 0,
    ),
    Probe(F + "div.f32", "div.rn.f32", "div.rn.f32 %0, %1, %2;", "f32", "f32 f32", rounded(numbers.div)),
    Probe(F + "rcp.rn", "rcp.rn.f32", "rcp.rn.f32 %0, %1;", "f32", "f32", rounded(reciprocal)),
    Probe(F + "sqrt", "sqrt.rn.f32", "sqrt.rn.f32 %0, %1;", "f32", "f32", rounded(numbers.sqrt)),
    Probe(F + "abs.f32", "abs.f32", "abs.f32 %0, %1;", "f32", "f32", lambda a: a & ~SIGN),
    Probe(F + "abs.f32", "neg.f32", "neg.f32 %0, %1;", "f32", "f32", lambda a: a ^ SIGN),
    Probe(F + "min.f64", "min.f32", "min.f32 %0, %1, %2;", "f32", "f32 f32", rounded(minimum(1))),
    Probe(M + "max", "max.f32", "max.f32 %0, %1, %2;", "f32", "f32 f32", rounded(minimum(-1))),
    Probe(M + "max", "max.NaN.f32", "max.NaN.f32 %0, %1, %2;", "f32", "f32 f32", rounded(minimum(-1, True))),
    Probe(F + "min.f64", "min.NaN.f32", "min.NaN.f32 %0, %1, %2;", "f32", "f32 f32", rounded(minimum(1, True))),
    Probe(M + "max", "max.xorsign.abs.f32", "max.xorsign.abs.f32 %0, %1, %2;", "f32", "f32 f32", xorsign_max, keep=is_number),
    Probe(F + "copysign", "copysign.f32", "copysign.f32 %0, %1, %2;", "b32", "f32 f32", lambda a, b: a & SIGN | b & ~SIGN),
    *(
        Probe(
            F + "testp", f"testp.{kind}.f32", f"{{.reg .pred p; testp.{kind}.f32 p, %1; selp.u32 %0, 1, 0, p;}}", "u32", "f32", testp(kind)
        )
        for kind in ("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    ),
    Probe(F + "add.f32", "add.rn.f64", "add.rn.f64 %0, %1, %2;", "f64", "f64 f64", rounded(numbers.add, F64)),
    Probe(F + "mul.f32", "mul.rn.f64", "mul.rn.f64 %0, %1, %2;", "f64", "f64 f64", rounded(numbers.mul, F64)),
    Probe(F + "fma.f64", "fma.rn.f64", "fma.rn.f64 %0, %1, %2, %3;", "f64", "f64 f64 f64", rounded(numbers.fma, F64)),
    Probe(F + "fma.f64", "fma.rz.f64", "fma.rz.f64 %0, %1, %2, %3;", "f64", "f64 f64 f64", rounded(fma_in("rz"), F64, "rz")),
    Probe(F + "div.f32", "div.rn.f64", "div.rn.f64 %0, %1, %2;", "f64", "f64 f64", rounded(numbers.div, F64)),
    Probe(F + "sqrt", "sqrt.rn.f64", "sqrt.rn.f64 %0, %1;", "f64", "f64", rounded(numbers.sqrt, F64)),
    Probe(F + "min.f64", "min.f64", "min.f64 %0, %1, %2;", "f64", "f64 f64", rounded(minimum(1), F64)),
    approximate(M + "ex2.approx", "ex2.approx.f32", "f32", np.exp2, 2.0**-22, -126.0, 127.0, unit="relative"),
    approximate(F + "lg2", "lg2.approx.f32", "f32", np.log2, 2.0**-22, 0.5, 2.0, unit="absolute"),
    approximate(F + "sin", "sin.approx.f32", "f32", np.sin, 2.0**-20.5, -math.pi, math.pi, unit="absolute"),
    approximate(F + "sin", "cos.approx.f32", "f32", np.cos, 2.0**-20.5, -math.pi, math.pi, unit="absolute"),
    approximate(
        M + "rcp.approx", "rcp.approx.f32", "f32", lambda x: 1 / x, 2.0**-22.9, 2.0**-100, 2.0**100, log_spaced=True, unit="relative"
    ),
    approximate(
        F + "rsqrt", "rsqrt.approx.f32", "f32", lambda x: 1 / np.sqrt(x), 2.0**-22.9, 2.0**-100, 2.0**100, log_spaced=True, unit="relative"
    ),
    approximate(F + "sqrt", "sqrt.approx.f32", "f32", np.sqrt, 2.0**-22, 2.0**-100, 2.0**100, log_spaced=True, unit="relative"),
    approximate(M + "tanh.approx", "tanh.approx.f32", "f32", np.tanh, 2.0**-10.9, 2.0**-12, 10.0, log_spaced=True, unit="relative"),
    approximate(
        F + "rcp.approx.ftz.f64",
        "rcp.approx.ftz.f64",
        "f64",
        lambda x: 1 / x,
        2.0**-18,
        2.0**-100,
        2.0**100,
        log_spaced=True,
        unit="relative",
    ),
    approximate(H + "ex2.approx.f16", "ex2.approx.f16", "f16", np.exp2, 2.0**-9.9, -14.0, 15.0, unit="relative"),
    approximate(H + "tanh.approx.f16", "tanh.approx.f16", "f16", np.tanh, 2.0**-10.5, 2.0**-5, 5.0, log_spaced=True, unit="absolute"),
    approximate(H + "tanh.approx.f16", "tanh.approx.bf16", "bf16", np.tanh, 1.01 * 2.0**-8, 2.0**-5, 5.0, log_spaced=True, unit="absolute"),
    approximate(H + "ex2.approx.f16", "ex2.approx.ftz.bf16", "bf16", np.exp2, 2.0**-7, -100.0, 100.0, unit="relative"),
    Probe(
        F + "div.f32",
        "div.approx.f32 by 3",
        "div.approx.f32 %0, %1, 0f40400000;",
        "f32",
        "f32",
        approximate=Approximate(lambda x: x / 3, 2.0, low=2.0**-100, high=2.0**100, log_spaced=True),
    ),
    Probe(
        F + "div.f32",
        "div.full.f32 by 3",
        "div.full.f32 %0, %1, 0f40400000;",
        "f32",
        "f32",
        approximate=Approximate(lambda x: x / 3, 2.0, low=2.0**-100, high=2.0**100, log_spaced=True),
    ),
    special(M + "ex2.approx", "ex2.approx.f32", {NEG_INF: 0, NEG_ZERO: ONE, 0: ONE, INF: INF, 0x7FC00000: NAN}),
    special(F + "lg2", "lg2.approx.f32", {NEG_INF: NAN, NEG_ZERO: NEG_INF, 0: NEG_INF, INF: INF, 0xBF800000: NAN, ONE: 0, 0x7FC00000: NAN}),
    special(F + "rsqrt", "rsqrt.approx.f32", {NEG_INF: NAN, NEG_ZERO: NEG_INF, 0: INF, INF: 0, ONE: ONE, 0xBF800000: NAN}),
    special(M + "rcp.approx", "rcp.approx.f32", {NEG_INF: NEG_ZERO, NEG_ZERO: NEG_INF, 0: INF, INF: 0, 0x7FC00000: NAN}),
    special(M + "tanh.approx", "tanh.approx.f32", {NEG_INF: 0xBF800000, NEG_ZERO: NEG_ZERO, 0: 0, INF: ONE, 0x7FC00000: NAN}),
    special(F + "sin", "sin.approx.f32", {NEG_INF: NAN, NEG_ZERO: NEG_ZERO, 0: 0, INF: NAN}),
    *chain(F + "add.f32", "add.rn.f32", "add.rn.f32 $x, $x, $a;", "FADD", seeds=(ONE, 0x33800000)),
    *chain(F + "mul.f32", "mul.rn.f32", "mul.rn.f32 $x, $x, $a;", "FMUL", seeds=(ONE, 0x3F800001)),
    *chain(M + "fma", "fma.rn.f32", "fma.rn.f32 $x, $x, $a, $b;", "FFMA", seeds=(ONE, 0x3F7FFFFF, 0x33800000)),
    *chain(
        F + "fma.f64",
        "fma.rn.f64",
        "fma.rn.f64 $x, $x, $a, $b;",
        "DFMA",
        kind="l",
        operands="ll",
        seeds=(0x3FF0000000000000, 0x3FEFFFFFFFFFFFFF, 0x3C00000000000000),
    ),
    *chain(
        F + "add.f32",
        "add.rn.f64",
        "add.rn.f64 $x, $x, $a;",
        "DADD",
        kind="l",
        operands="l",
        seeds=(0x3FF0000000000000, 0x3C00000000000000),
    ),
    *chain(M + "ex2.approx", "ex2.approx.ftz.f32", "ex2.approx.ftz.f32 $x, $x;", "MUFU.EX2", seeds=(0,)),
    *chain(F + "lg2", "lg2.approx.ftz.f32", "lg2.approx.ftz.f32 $x, $x;", "MUFU.LG2", seeds=(ONE,)),
    *chain(
        M + "rcp.approx",
        "rcp.approx.ftz.f32 add.ftz.f32 pair",
        "rcp.approx.ftz.f32 $x, $x; add.rn.ftz.f32 $x, $x, $a;",
        "MUFU.RCP",
        seeds=(0x3FC00000, ONE),
    ),
    *chain(F + "rsqrt", "rsqrt.approx.ftz.f32", "rsqrt.approx.ftz.f32 $x, $x;", "MUFU.RSQ", seeds=(0x3FC00000,)),
    *chain(M + "tanh.approx", "tanh.approx.f32", "tanh.approx.f32 $x, $x;", "MUFU.TANH", seeds=(0x3FC00000,)),
    *chain(F + "sin", "sin.approx.ftz.f32", "sin.approx.ftz.f32 $x, $x;", "MUFU.SIN", seeds=(0x3F000000,)),
    *chain(F + "div.f32", "div.rn.f32", "div.rn.f32 $x, $a, $x;", "MUFU.RCP", count=16, seeds=(0x3FC00000, 0x40400000), most=2),
    *chain(F + "sqrt", "sqrt.rn.f32", "sqrt.rn.f32 $x, $x;", "MUFU.RSQ", count=16, seeds=(0x41400000,), most=2),
    *chain(F + "div.f32", "div.full.ftz.f32", "div.full.ftz.f32 $x, $a, $x;", "MUFU.RCP", count=64, seeds=(0x3FC00000, 0x40400000)),
    *chain(
        F + "div.f32",
        "div.rn.f64",
        "div.rn.f64 $x, $a, $x;",
        "MUFU.RCP64",
        kind="l",
        operands="l",
        count=8,
        most=2,
        seeds=(0x3FF8000000000000, 0x4008000000000000),
    ),
    *chain(
        M + "max", "max.f32 min.f32 pair", "max.f32 $x, $x, $a; min.f32 $x, $x, $b;", "FMNMX", per=2, seeds=(ONE, 0x3F000000, 0x40000000)
    ),
    *chain(
        F + "testp",
        "testp.subnormal.f32",
        "testp.subnormal.f32 p, $x; @p add.u32 $x, $x, $a; xor.b32 $x, $x, $b;",
        "LOP3|ISETP|IADD|VIADD",
        per=4,
        most=8,
        prelude=".reg .pred p;",
        count=64,
        note=", each with a predicated add and a xor",
    ),
)

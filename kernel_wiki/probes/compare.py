"""Comparisons and selections."""

from __future__ import annotations

from .integer import M32, signed
from .numbers import F16, F32, Value, decode, is_negative
from .probe import Probe

C = "isa/compare/"


def is_nan(value: Value) -> bool:
    return value != value


ORDERED = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def float_compare(operator: str):
    """The comparison of f32 patterns: the plain forms are false when an operand is NaN, those with a u are true."""

    def model(a: int, b: int, form=F32) -> int:
        x, y = decode(form, a), decode(form, b)
        unordered = is_nan(x) or is_nan(y)
        if operator in ("num", "nan"):
            return int(unordered == (operator == "nan"))
        if unordered:
            return int(operator not in ORDERED)
        return int(ORDERED[operator if operator in ORDERED else operator[:-1]](x, y))

    return model


def setp(kind: str, operator: str) -> str:
    return f"{{.reg .pred p; setp.{operator}.{kind} p, %1, %2; selp.u32 %0, 1, 0, p;}}"


def _slct(a: int, b: int, c: int) -> int:
    value = decode(F32, c)
    return b if is_nan(value) or (is_negative(value) and value != 0) else a


def _pair_less(a: int, b: int) -> tuple[int, int]:
    low, high = (float_compare("lt")(a >> s & 0xFFFF, b >> s & 0xFFFF, F16) for s in (0, 16))
    return low, high


PROBES = (
    *(
        Probe(C + "setp", f"setp.{operator}.f32", setp("f32", operator), "u32", "f32 f32", float_compare(operator))
        for operator in ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
    ),
    Probe(C + "setp", "setp.lt.s32", setp("s32", "lt"), "u32", "s32 s32", lambda a, b: int(signed(a) < signed(b))),
    Probe(C + "setp", "setp.lo.u32", setp("u32", "lo"), "u32", "u32 u32", lambda a, b: int(a < b)),
    Probe(C + "setp", "setp.hs.u64", setp("u64", "hs"), "u32", "u64 u64", lambda a, b: int(a >= b)),
    Probe(
        C + "setp",
        "setp.gt.xor.u32 p|q",
        "{.reg .pred p, q, r; setp.ne.u32 r, %4, 0; setp.gt.xor.u32 p|q, %2, %3, r; selp.u32 %0, 1, 0, p; selp.u32 %1, 1, 0, q;}",
        "u32 u32",
        "u32 u32 u32",
        lambda a, b, c: (int((a > b) ^ (c != 0)), int((not a > b) ^ (c != 0))),
    ),
    Probe(
        C + "setp.f16",
        "setp.lt.f16x2 p|q",
        "{.reg .pred p, q; setp.lt.f16x2 p|q, %2, %3; selp.u32 %0, 1, 0, p; selp.u32 %1, 1, 0, q;}",
        "u32 u32",
        "f16x2 f16x2",
        _pair_less,
    ),
    Probe(C + "set", "set.gt.u32.f32", "set.gt.u32.f32 %0, %1, %2;", "u32", "f32 f32", lambda a, b: M32 * float_compare("gt")(a, b)),
    Probe(
        C + "set",
        "set.le.f32.f32",
        "set.le.f32.f32 %0, %1, %2;",
        "f32",
        "f32 f32",
        lambda a, b: 0x3F800000 * float_compare("le")(a, b),
    ),
    Probe(
        C + "set.f16",
        "set.ltu.f16x2.f16x2",
        "set.ltu.f16x2.f16x2 %0, %1, %2;",
        "b32",
        "f16x2 f16x2",
        lambda a, b: sum((0x3C00 * float_compare("ltu")(a >> s & 0xFFFF, b >> s & 0xFFFF, F16)) << s for s in (0, 16)),
    ),
    Probe(
        C + "selp",
        "selp.b32",
        "{.reg .pred p; setp.ne.u32 p, %3, 0; selp.b32 %0, %1, %2, p;}",
        "b32",
        "b32 b32 u32",
        lambda a, b, c: a if c else b,
    ),
    Probe(C + "slct", "slct.b32.s32", "slct.b32.s32 %0, %1, %2, %3;", "b32", "b32 b32 s32", lambda a, b, c: a if signed(c) >= 0 else b),
    Probe(C + "slct", "slct.b32.f32", "slct.b32.f32 %0, %1, %2, %3;", "b32", "b32 b32 f32", _slct),
)

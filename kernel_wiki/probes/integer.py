"""Integer arithmetic and bit fields."""

from __future__ import annotations

from .chains import chain
from .probe import Probe

M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def signed(value: int, width: int = 32) -> int:
    """Two's complement."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def clamped(value: int) -> int:
    """Saturated to s32."""
    return min(max(value, -(1 << 31)), (1 << 31) - 1)


def halves(function):
    """A function of two 16-bit lanes applied to both halves of packed words."""
    return lambda a, b: (function(a & 0xFFFF, b & 0xFFFF) & 0xFFFF) | (function(a >> 16, b >> 16) & 0xFFFF) << 16


def quotient(a: int, b: int) -> int:
    """Truncated towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def bfe(a: int, b: int, c: int, is_signed: bool) -> int:
    """Bits b to b + c - 1; beyond bit 31 a signed field continues with its top bit."""
    start, length = b & 0xFF, c & 0xFF
    top = a >> min(start + length - 1, 31) & 1 if is_signed and length else 0
    return sum((a >> (start + i) & 1 if i < length and start + i <= 31 else top) << i for i in range(32))


def bfi(a: int, b: int, c: int, d: int) -> int:
    """b with d bits from position c replaced by the low bits of a."""
    start, length = c & 0xFF, d & 0xFF
    for i in range(min(length, max(0, 32 - start))):
        b = b & ~(1 << (start + i)) | (a >> i & 1) << (start + i)
    return b


def bfind(a: int, width: int, is_signed: bool) -> int:
    """The highest bit that differs from the sign; all ones if there is none."""
    value = ~a & ((1 << width) - 1) if is_signed and a >> (width - 1) else a
    return value.bit_length() - 1


def fns(mask: int, base: int, offset: int) -> int:
    """The |offset|-th set bit from base on, upwards or downwards; offset 0 tests base itself."""
    offset = signed(offset)
    if offset == 0:
        return base if mask >> base & 1 else -1
    order = range(base, 32) if offset > 0 else range(base, -1, -1)
    set_bits = [position for position in order if mask >> position & 1]
    return set_bits[abs(offset) - 1] if abs(offset) <= len(set_bits) else -1


def szext(a: int, b: int, clamp: bool, is_signed: bool) -> int:
    """The low b bits of a, extended."""
    bits = min(b, 32) if clamp else b & 31
    return 0 if bits == 0 else signed(a, bits) if is_signed else a & ((1 << bits) - 1)


def bmsk(a: int, b: int, clamp: bool) -> int:
    """b ones from bit a on."""
    start, width = (min(a, 32), min(b, 32)) if clamp else (a & 31, b & 31)
    return ((1 << width) - 1) << start


def parts(value: int, width: int, is_signed: bool) -> list[int]:
    """Lanes of a word, lowest first."""
    lanes = [value >> i & ((1 << width) - 1) for i in range(0, 32, width)]
    return [signed(lane, width) for lane in lanes] if is_signed else lanes


def dp4a(a: int, b: int, c: int, a_signed: bool, b_signed: bool) -> int:
    return c + sum(x * y for x, y in zip(parts(a, 8, a_signed), parts(b, 8, b_signed)))


def dp2a(a: int, b: int, c: int, high: bool, is_signed: bool) -> int:
    return c + sum(x * y for x, y in zip(parts(a, 16, is_signed), parts(b, 8, is_signed)[2 * high :]))


def _add128(a0, a1, b0, b1):
    total = a0 + (a1 << 64) + b0 + (b1 << 64)
    return total & M64, total >> 64 & M64


def _sub128(a0, a1, b0, b1):
    total = a0 + (a1 << 64) - b0 - (b1 << 64)
    return total & M64, total >> 64 & M64


def _mad64(a, b, c_low, c_high):
    total = a * b + c_low + (c_high << 32)
    return total & M32, total >> 32 & M32


I = "isa/integer/"  # noqa: E741  # the common part of the ids

PROBES = (
    Probe(I + "add", "add.u32", "add.u32 %0, %1, %2;", "u32", "u32 u32", lambda a, b: a + b),
    Probe(I + "add", "add.sat.s32", "add.sat.s32 %0, %1, %2;", "s32", "s32 s32", lambda a, b: clamped(signed(a) + signed(b))),
    Probe(I + "add", "add.u16x2", "add.u16x2 %0, %1, %2;", "b32", "b32 b32", halves(lambda a, b: a + b)),
    Probe(I + "sub", "sub.s64", "sub.s64 %0, %1, %2;", "s64", "s64 s64", lambda a, b: a - b),
    Probe(I + "sub", "sub.sat.s32", "sub.sat.s32 %0, %1, %2;", "s32", "s32 s32", lambda a, b: clamped(signed(a) - signed(b))),
    Probe(I + "mul", "mul.lo.u32", "mul.lo.u32 %0, %1, %2;", "u32", "u32 u32", lambda a, b: a * b),
    Probe(I + "mul", "mul.hi.s32", "mul.hi.s32 %0, %1, %2;", "s32", "s32 s32", lambda a, b: signed(a) * signed(b) >> 32),
    Probe(I + "mul", "mul.hi.u64", "mul.hi.u64 %0, %1, %2;", "u64", "u64 u64", lambda a, b: a * b >> 64),
    Probe(I + "mul", "mul.wide.s32", "mul.wide.s32 %0, %1, %2;", "s64", "s32 s32", lambda a, b: signed(a) * signed(b)),
    Probe(I + "mul", "mul.wide.u16", "mul.wide.u16 %0, %1, %2;", "u32", "u16 u16", lambda a, b: a * b),
    Probe(I + "mad", "mad.lo.u32", "mad.lo.u32 %0, %1, %2, %3;", "u32", "u32 u32 u32", lambda a, b, c: a * b + c),
    Probe(I + "mad", "mad.hi.u32", "mad.hi.u32 %0, %1, %2, %3;", "u32", "u32 u32 u32", lambda a, b, c: (a * b >> 32) + c),
    Probe(I + "mad", "mad.wide.s32", "mad.wide.s32 %0, %1, %2, %3;", "s64", "s32 s32 s64", lambda a, b, c: signed(a) * signed(b) + c),
    Probe(
        I + "mad",
        "mad.hi.sat.s32",
        "mad.hi.sat.s32 %0, %1, %2, %3;",
        "s32",
        "s32 s32 s32",
        lambda a, b, c: clamped((signed(a) * signed(b) >> 32) + signed(c)),
    ),
    Probe(I + "mul24", "mul24.lo.u32", "mul24.lo.u32 %0, %1, %2;", "u32", "u32 u32", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    Probe(I + "mul24", "mul24.hi.s32", "mul24.hi.s32 %0, %1, %2;", "s32", "s32 s32", lambda a, b: signed(a, 24) * signed(b, 24) >> 16),
    Probe(
        I + "mul24",
        "mad24.lo.u32",
        "mad24.lo.u32 %0, %1, %2, %3;",
        "u32",
        "u32 u32 u32",
        lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c,
    ),
    Probe(I + "sad", "sad.u32", "sad.u32 %0, %1, %2, %3;", "u32", "u32 u32 u32", lambda a, b, c: abs(a - b) + c),
    Probe(I + "sad", "sad.s32", "sad.s32 %0, %1, %2, %3;", "s32", "s32 s32 s32", lambda a, b, c: abs(signed(a) - signed(b)) + c),
    Probe(I + "div", "div.u32", "div.u32 %0, %1, %2;", "u32", "u32 u32", lambda a, b: a // b, keep=lambda a, b: b),
    Probe(
        I + "div",
        "div.s32",
        "div.s32 %0, %1, %2;",
        "s32",
        "s32 s32",
        lambda a, b: quotient(signed(a), signed(b)),
        keep=lambda a, b: b and not (a == 1 << 31 and b == M32),
    ),
    Probe(I + "div", "div.u64", "div.u64 %0, %1, %2;", "u64", "u64 u64", lambda a, b: a // b, keep=lambda a, b: b),
    Probe(I + "rem", "rem.u32", "rem.u32 %0, %1, %2;", "u32", "u32 u32", lambda a, b: a % b, keep=lambda a, b: b),
    Probe(
        I + "rem",
        "rem.s32",
        "rem.s32 %0, %1, %2;",
        "s32",
        "s32 s32",
        lambda a, b: signed(a) - quotient(signed(a), signed(b)) * signed(b),
        keep=lambda a, b: b and not (a == 1 << 31 and b == M32),
    ),
    Probe(I + "abs", "abs.s32", "abs.s32 %0, %1;", "s32", "s32", lambda a: abs(signed(a))),
    Probe(I + "neg", "neg.s32", "neg.s32 %0, %1;", "s32", "s32", lambda a: -a),
    Probe(I + "min", "min.s32", "min.s32 %0, %1, %2;", "s32", "s32 s32", lambda a, b: min(signed(a), signed(b))),
    Probe(I + "min", "min.u64", "min.u64 %0, %1, %2;", "u64", "u64 u64", min),
    Probe(I + "min", "max.u32", "max.u32 %0, %1, %2;", "u32", "u32 u32", max),
    Probe(I + "min", "max.relu.s32", "max.relu.s32 %0, %1, %2;", "s32", "s32 s32", lambda a, b: max(signed(a), signed(b), 0)),
    Probe(
        I + "min",
        "min.s16x2",
        "min.s16x2 %0, %1, %2;",
        "b32",
        "b32 b32",
        halves(lambda a, b: min(signed(a, 16), signed(b, 16))),
    ),
    Probe(
        I + "min",
        "min.relu.s16x2",
        "min.relu.s16x2 %0, %1, %2;",
        "b32",
        "b32 b32",
        halves(lambda a, b: max(min(signed(a, 16), signed(b, 16)), 0)),
    ),
    Probe(I + "popc", "popc.b32", "popc.b32 %0, %1;", "u32", "b32", lambda a: a.bit_count()),
    Probe(I + "popc", "popc.b64", "popc.b64 %0, %1;", "u32", "b64", lambda a: a.bit_count()),
    Probe(I + "clz", "clz.b32", "clz.b32 %0, %1;", "u32", "b32", lambda a: 32 - a.bit_length()),
    Probe(I + "clz", "clz.b64", "clz.b64 %0, %1;", "u32", "b64", lambda a: 64 - a.bit_length()),
    Probe(I + "brev", "brev.b32", "brev.b32 %0, %1;", "b32", "b32", lambda a: int(f"{a:032b}"[::-1], 2)),
    Probe(I + "brev", "brev.b64", "brev.b64 %0, %1;", "b64", "b64", lambda a: int(f"{a:064b}"[::-1], 2)),
    Probe(I + "bfind", "bfind.u32", "bfind.u32 %0, %1;", "u32", "u32", lambda a: bfind(a, 32, False)),
    Probe(I + "bfind", "bfind.s32", "bfind.s32 %0, %1;", "u32", "s32", lambda a: bfind(a, 32, True)),
    Probe(I + "bfind", "bfind.s64", "bfind.s64 %0, %1;", "u32", "s64", lambda a: bfind(a, 64, True)),
    Probe(
        I + "bfind",
        "bfind.shiftamt.u32",
        "bfind.shiftamt.u32 %0, %1;",
        "u32",
        "u32",
        lambda a: 31 - bfind(a, 32, False) if a else -1,
    ),
    Probe("isa/math/bfe", "bfe.u32", "bfe.u32 %0, %1, %2, %3;", "u32", "u32 u32 u32", lambda a, b, c: bfe(a, b, c, False)),
    Probe("isa/math/bfe", "bfe.s32", "bfe.s32 %0, %1, %2, %3;", "s32", "s32 u32 u32", lambda a, b, c: bfe(a, b, c, True)),
    Probe(I + "bfi", "bfi.b32", "bfi.b32 %0, %1, %2, %3, %4;", "b32", "b32 b32 u32 u32", bfi),
    Probe(
        I + "fns",
        "fns.b32",
        "fns.b32 %0, %1, %2, %3;",
        "b32",
        "b32 b32 s32",
        fns,
        keep=lambda mask, base, offset: base < 32 and abs(signed(offset)) <= 32,
    ),
    *(
        Probe(
            I + "szext",
            f"szext.{mode}.{kind}",
            f"szext.{mode}.{kind} %0, %1, %2;",
            kind,
            f"{kind} u32",
            lambda a, b, mode=mode, kind=kind: szext(a, b, mode == "clamp", kind == "s32"),
        )
        for mode in ("clamp", "wrap")
        for kind in ("u32", "s32")
    ),
    Probe(I + "bmsk", "bmsk.clamp.b32", "bmsk.clamp.b32 %0, %1, %2;", "b32", "u32 u32", lambda a, b: bmsk(a, b, True)),
    Probe(I + "bmsk", "bmsk.wrap.b32", "bmsk.wrap.b32 %0, %1, %2;", "b32", "u32 u32", lambda a, b: bmsk(a, b, False)),
    *(
        Probe(
            "isa/math/dp4a",
            f"dp4a.{x}.{y}",
            f"dp4a.{x}.{y} %0, %1, %2, %3;",
            "s32",
            "b32 b32 s32",
            lambda a, b, c, x=x, y=y: dp4a(a, b, c, x == "s32", y == "s32"),
        )
        for x, y in (("u32", "u32"), ("s32", "s32"), ("u32", "s32"))
    ),
    *(
        Probe(
            I + "dp2a",
            f"dp2a.{half}.{kind}.{kind}",
            f"dp2a.{half}.{kind}.{kind} %0, %1, %2, %3;",
            kind,
            f"b32 b32 {kind}",
            lambda a, b, c, half=half, kind=kind: dp2a(a, b, c, half == "hi", kind == "s32"),
        )
        for half, kind in (("lo", "s32"), ("hi", "s32"), ("hi", "u32"))
    ),
    Probe(
        I + "add.cc",
        "add.cc.u64 addc.u64",
        "add.cc.u64 %0, %2, %4; addc.u64 %1, %3, %5;",
        "u64 u64",
        "u64 u64 u64 u64",
        _add128,
    ),
    Probe(
        I + "sub.cc",
        "sub.cc.u64 subc.u64",
        "sub.cc.u64 %0, %2, %4; subc.u64 %1, %3, %5;",
        "u64 u64",
        "u64 u64 u64 u64",
        _sub128,
    ),
    Probe(
        I + "mad.cc",
        "mad.lo.cc.u32 madc.hi.u32",
        "mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, %5;",
        "u32 u32",
        "u32 u32 u32 u32",
        _mad64,
    ),
    *chain(
        I + "add",
        "add.u32 xor.b32 pair",
        "add.u32 $x, $x, $a; xor.b32 $x, $x, $b;",
        "IADD3|IMAD.IADD|LOP3",
        per=2,
        note=", each add with a xor",
    ),
    *chain(I + "mul", "mul.lo.u32", "mul.lo.u32 $x, $x, $a;", "IMAD"),
    *chain(I + "mad", "mad.lo.u32", "mad.lo.u32 $x, $x, $a, $b;", "IMAD"),
    *chain(I + "mul", "mul.hi.u32", "mul.hi.u32 $x, $x, $a;", "IMAD.HI"),
    *chain(I + "mul", "mul.lo.u64", "mul.lo.u64 $x, $x, $a;", "IMAD", per=3, most=6, kind="l", operands="l", count=64),
    *chain(I + "div", "div.u32", "div.u32 $x, $a, $x;", "MUFU.RCP", count=16, seeds=(12345, 0x7FFFFFFF)),
    *chain(I + "popc", "popc.b32", "popc.b32 $x, $x;", "POPC"),
    *chain(I + "brev", "brev.b32 add.u32 pair", "brev.b32 $x, $x; add.u32 $x, $x, $a;", "BREV", note=", each with an add"),
    *chain(I + "clz", "clz.b32", "clz.b32 $x, $x;", "FLO"),
    *chain(I + "bfind", "bfind.u32", "bfind.u32 $x, $x;", "FLO"),
    *chain("isa/math/dp4a", "dp4a.s32.s32", "dp4a.s32.s32 $x, $a, $b, $x;", "IDP"),
    *chain(I + "dp2a", "dp2a.lo.s32.s32", "dp2a.lo.s32.s32 $x, $a, $b, $x;", "IDP"),
    *chain("isa/math/bfe", "bfe.u32", "bfe.u32 $x, $x, $a, $b;", "PRMT|SHF|BMSK|SGXT|LOP3|MOV|IMAD", per=2, most=8, count=64),
    *chain(
        I + "min",
        "min.s32 max.s32 pair",
        "min.s32 $x, $x, $a; max.s32 $x, $x, $b;",
        "VIMNMX|IMNMX",
        per=1,
        note=", each step a min and a max",
    ),
    *chain(I + "sad", "sad.u32", "sad.u32 $x, $x, $a, $b;", "VABSDIFF|IADD3|IMNMX|VIMNMX|IABS", per=1, most=8, count=64),
)

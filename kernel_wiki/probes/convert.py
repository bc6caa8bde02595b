"""Conversions between number formats."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from .chains import chain
from .integer import M32, signed
from .numbers import BF16, E4M3, E5M2, F16, F32, F64, TF32, Format, Value, clamp_integer, decode, encode, flush, saturate
from .operands import float_edges, seeded
from .probe import Probe

C = "isa/convert/"
CVT, PACK, BF, FP8, TF = C + "cvt", C + "cvt.pack", C + "cvt.bf16x2", C + "cvt.fp8", C + "cvt.tf32"


def change(source: Format, target: Format, rounding: str = "rn", **how):
    """One format's pattern to the other's."""
    return lambda bits: encode(target, decode(source, bits), rounding, **how)


def relu(bits: int, form: Format, rounding: str = "rn") -> int:
    """f32 to `form`, negative values to +0."""
    value = decode(F32, bits)
    return 0 if value == value and bits >> 31 else encode(form, value, rounding)


def pair(target: Format, **how):
    """Two f32: the first becomes the upper half."""
    return lambda a, b: encode(target, decode(F32, a), **how) << target.width | encode(target, decode(F32, b), **how)


def unpack(source: Format, target: Format, **how):
    """Both lanes of a packed word from one format to the other."""

    def model(word: int) -> int:
        mask = (1 << source.width) - 1
        return sum(encode(target, decode(source, word >> i * source.width & mask), **how) << i * target.width for i in (0, 1))

    return model


def to_integer(rounding: str, low: int, high: int, form: Format = F32):
    return lambda bits: clamp_integer(decode(form, bits), rounding, low, high)


def from_integer(target: Format, is_signed: bool, rounding: str = "rn", width: int = 32):
    def model(bits: int) -> int:
        number = signed(bits, width) if is_signed else bits
        return encode(target, Fraction(number) if number else 0.0, rounding)

    return model


def integral(rounding: str):
    """f32 rounded to an integral f32."""

    def model(bits: int) -> int:
        value = decode(F32, bits)
        if isinstance(value, float):
            return encode(F32, value)
        whole = clamp_integer(value, rounding, -(1 << 200), 1 << 200)
        return encode(F32, Fraction(whole)) if whole else bits & 1 << 31

    return model


def tf32(bits: int, rounding: str) -> int:
    return encode(TF32, decode(F32, bits), rounding) << 13


def all_bytes() -> np.ndarray:
    """Every pair of one byte and a drawn one."""
    low = np.arange(256, dtype=np.uint64)
    return (low | seeded("bytes").integers(0, 256, 256, dtype=np.uint64) << np.uint64(8))[:, None]


def all_halves() -> np.ndarray:
    """Every 16-bit pattern whose lower byte is 0, 1 or 255, and every seventh of the rest."""
    every = np.arange(1 << 16, dtype=np.uint64)
    return every[np.isin(every & np.uint64(255), (0, 1, 255)) | (every % np.uint64(7) == 0)][:, None]


def narrow_ties() -> np.ndarray:
    """f32 pairs on and beside every rounding boundary of e4m3 and e5m2, and the usual edges."""
    values = []
    for form in (E4M3, E5M2):
        ends = [decode(form, bits) for bits in range(form.largest_bits + 1)]
        middles = [(a + b) / 2 for a, b in pairwise(ends[1:])]
        values += [encode(F32, v) + step for v in (*ends[1:], *middles) for step in (-1, 0, 1)]
    values += float_edges(F32)
    values += [v | 1 << 31 for v in values]
    return np.stack([np.array(values, dtype=np.uint64), np.array(values[::-1], dtype=np.uint64)], axis=1)


def finite(bits: int) -> bool:
    return bits & 0x7F800000 != 0x7F800000


def _as_saturated(value: Value) -> int:
    return encode(F32, saturate(value))


def _pack_bytes(a: int, b: int, c: int) -> int:
    low, high = (min(max(signed(v), 0), 255) for v in (b, a))
    return c << 16 | high << 8 | low


def _pack_halves(a: int, b: int) -> int:
    low, high = (min(max(signed(v), -32768), 32767) & 0xFFFF for v in (b, a))
    return high << 16 | low


def one(isa: str, name: str, out: str, source: str, model, **how) -> Probe:
    return Probe(isa, name, f"{name} %0, %1;", out, source, model, **how)


S8 = "{.reg .b32 t; cvt.rni.sat.s8.f32 t, %1; mov.b32 %0, t;}"
TF_PATTERN = lambda rounding: lambda bits: tf32(bits, rounding)  # noqa: E731  # a table of models reads better than three defs

PROBES = (
    one(BF, "cvt.rn.bf16.f32", "bf16", "f32", change(F32, BF16)),
    one(BF, "cvt.rz.bf16.f32", "bf16", "f32", change(F32, BF16, "rz")),
    one(BF, "cvt.rn.relu.bf16.f32", "bf16", "f32", lambda bits: relu(bits, BF16), keep=lambda bits: bits != 1 << 31),
    Probe(BF, "cvt.rn.bf16x2.f32", "cvt.rn.bf16x2.f32 %0, %1, %2;", "bf16x2", "f32 f32", pair(BF16)),
    Probe(C + "cvt.f16x2", "cvt.rn.f16x2.f32", "cvt.rn.f16x2.f32 %0, %1, %2;", "f16x2", "f32 f32", pair(F16)),
    one(CVT, "cvt.rn.f16.f32", "f16", "f32", change(F32, F16)),
    one(CVT, "cvt.rz.f16.f32", "f16", "f32", change(F32, F16, "rz")),
    one(CVT, "cvt.f32.f16", "f32", "f16", change(F16, F32), cases=all_halves),
    one(BF, "cvt.f32.bf16", "f32", "bf16", change(BF16, F32), cases=all_halves),
    one(CVT, "cvt.rn.f32.f64", "f32", "f64", change(F64, F32)),
    one(CVT, "cvt.rz.f32.f64", "f32", "f64", change(F64, F32, "rz")),
    one(CVT, "cvt.f64.f32", "f64", "f32", change(F32, F64)),
    one(TF, "cvt.rna.tf32.f32", "b32", "f32", TF_PATTERN("rna"), keep=finite),
    one(TF, "cvt.rn.tf32.f32", "b32", "f32", TF_PATTERN("rn"), keep=finite),
    one(TF, "cvt.rz.tf32.f32", "b32", "f32", TF_PATTERN("rz"), keep=finite),
    Probe(
        FP8,
        "cvt.rn.satfinite.e4m3x2.f32",
        "cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;",
        "e4m3x2",
        "f32 f32",
        pair(E4M3, satfinite=True),
        cases=narrow_ties,
    ),
    Probe(
        FP8,
        "cvt.rn.satfinite.e5m2x2.f32",
        "cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;",
        "e5m2x2",
        "f32 f32",
        pair(E5M2, satfinite=True),
        cases=narrow_ties,
    ),
    one(FP8, "cvt.rn.f16x2.e4m3x2", "f16x2", "e4m3x2", unpack(E4M3, F16), cases=all_bytes),
    one(FP8, "cvt.rn.f16x2.e5m2x2", "f16x2", "e5m2x2", unpack(E5M2, F16), cases=all_bytes),
    one(FP8, "cvt.rn.satfinite.e4m3x2.f16x2", "e4m3x2", "f16x2", unpack(F16, E4M3, satfinite=True)),
    one(FP8, "cvt.rn.satfinite.e5m2x2.f16x2", "e5m2x2", "f16x2", unpack(F16, E5M2, satfinite=True)),
    *(one(CVT, f"cvt.{m}i.s32.f32", "s32", "f32", to_integer(m, -(1 << 31), (1 << 31) - 1)) for m in ("rn", "rz", "rm", "rp")),
    one(CVT, "cvt.rzi.u32.f32", "u32", "f32", to_integer("rz", 0, M32)),
    one(CVT, "cvt.rni.s64.f32", "s64", "f32", to_integer("rn", -(1 << 63), (1 << 63) - 1), keep=lambda bits: not F32.is_nan(bits)),
    Probe(CVT, "cvt.rni.sat.s8.f32", S8, "s32", "f32", to_integer("rn", -128, 127)),
    *(one(CVT, f"cvt.{m}i.f32.f32", "f32", "f32", integral(m)) for m in ("rn", "rz", "rm", "rp")),
    one(CVT, "cvt.rn.f32.s32", "f32", "s32", from_integer(F32, True)),
    one(CVT, "cvt.rz.f32.u32", "f32", "u32", from_integer(F32, False, "rz")),
    one(CVT, "cvt.rn.f32.u64", "f32", "u64", from_integer(F32, False, width=64)),
    one(CVT, "cvt.rn.f16.s32", "f16", "s32", from_integer(F16, True)),
    one(CVT, "cvt.sat.f32.f32", "f32", "f32", lambda bits: _as_saturated(decode(F32, bits)), keep=lambda bits: bits != 1 << 31),
    one(CVT, "cvt.ftz.f32.f32", "f32", "f32", lambda bits: encode(F32, flush(decode(F32, bits)))),
    one(CVT, "cvt.s32.s8", "s32", "b32", lambda bits: signed(bits, 8)),
    one(CVT, "cvt.sat.u8.s32", "u32", "s32", lambda bits: min(max(signed(bits), 0), 255)),
    one(CVT, "cvt.sat.s16.s32", "s16", "s32", lambda bits: min(max(signed(bits), -32768), 32767)),
    Probe(PACK, "cvt.pack.sat.u8.s32.b32", "cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;", "b32", "s32 s32 b32", _pack_bytes),
    Probe(PACK, "cvt.pack.sat.s16.s32", "cvt.pack.sat.s16.s32 %0, %1, %2;", "b32", "s32 s32", _pack_halves),
    *chain(BF, "cvt.rn.bf16x2.f32", "cvt.rn.bf16x2.f32 $x, $x, $a;", "F2FP", seeds=(0x3F800000, 0x40000000)),
    *chain(C + "cvt.f16x2", "cvt.rn.f16x2.f32", "cvt.rn.f16x2.f32 $x, $x, $a;", "F2FP", seeds=(0x3F800000, 0x40000000)),
    *chain(
        FP8,
        "cvt.rn.satfinite.e4m3x2.f32 cvt.u32.u16 pair",
        "cvt.rn.satfinite.e4m3x2.f32 h, $x, $a; cvt.u32.u16 $x, h;",
        "F2FP",
        prelude=".reg .b16 h;",
        most=3,
        seeds=(0x3F800000, 0x40000000),
    ),
    *chain(
        FP8,
        "cvt.rn.f16x2.e4m3x2 cvt.u16.u32 pair",
        "cvt.u16.u32 h, $x; cvt.rn.f16x2.e4m3x2 $x, h;",
        "F2FP|HADD2|PRMT",
        prelude=".reg .b16 h;",
        most=4,
        seeds=(0x3838,),
    ),
    *chain(CVT, "cvt.rni.s32.f32", "cvt.rni.s32.f32 $x, $x;", "F2I", seeds=(0x4B000000,)),
    *chain(CVT, "cvt.rn.f32.s32", "cvt.rn.f32.s32 $x, $x;", "I2F", seeds=(7,)),
    *chain(CVT, "cvt.rni.f32.f32 add pair", "cvt.rni.f32.f32 $x, $x; add.rn.f32 $x, $x, $a;", "FRND", seeds=(0x3FC00000, 0x3E800000)),
    *chain(
        TF,
        "cvt.rna.tf32.f32 add pair",
        "cvt.rna.tf32.f32 $x, $x; add.rn.f32 $x, $x, $a;",
        "F2F|F2FP|LOP3|VIADD|IADD3",
        most=6,
        seeds=(0x3FC00000, 0x33800000),
    ),
    *chain(
        CVT,
        "cvt.rn.f32.f64 cvt.f64.f32 pair",
        "cvt.rn.f32.f64 f, $x; cvt.f64.f32 $x, f; add.rn.f64 $x, $x, $a;",
        "F2F",
        per=2,
        prelude=".reg .f32 f;",
        kind="l",
        operands="l",
        seeds=(0x3FF0000000000000, 0x3F50000000000000),
        count=128,
        note=", each with an f64 add",
    ),
)

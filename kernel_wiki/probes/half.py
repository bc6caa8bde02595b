"""Packed half-precision arithmetic."""

from __future__ import annotations

from dataclasses import replace

from . import numbers
from .chains import chain
from .numbers import BF16, F16, Format, Value, decode, encode
from .probe import Probe

F, M, H = "isa/float/", "isa/math/", "isa/half/"
FORMS = {"f16": F16, "bf16": BF16}


def packed(form: Format, function):
    """A function of values applied to both lanes, each rounded once."""

    def model(*words: int) -> int:
        result = 0
        for shift in (0, 16):
            values = [decode(form, word >> shift & 0xFFFF) for word in words]
            result |= encode(form, function(*values)) << shift
        return result

    return model


def relu(function):
    """Negative results become +0, NaN stays."""

    def clamped(*values: Value) -> Value:
        result = function(*values)
        return 0.0 if numbers.is_negative(result) and result == result else result

    return clamped


def two(isa: str, name: str, form: str, function, operands: int = 2) -> Probe:
    """A packed instruction of `operands` inputs."""
    inputs = ", ".join(f"%{i + 1}" for i in range(operands))
    return Probe(isa, name, f"{name} %0, {inputs};", f"{form}x2", " ".join([f"{form}x2"] * operands), packed(FORMS[form], function))


def relu_fma(isa: str, form: str) -> Probe:
    """A fused multiply-add clamped from below, where no exact lane is zero."""
    probe = two(isa, f"fma.rn.relu.{form}x2", form, relu(numbers.fma), 3)
    return replace(probe, keep=_not_zero(numbers.fma, FORMS[form]))


def smaller(a: Value, b: Value) -> Value:
    return numbers.smallest(a, b)


def larger(a: Value, b: Value) -> Value:
    return numbers.smallest(a, b, -1)


def larger_or_nan(a: Value, b: Value) -> Value:
    return numbers.smallest(a, b, -1, keep_nan=True)


def _not_zero(function, form: Format):
    """Cases whose exact lanes are not zero: the sign of a clamped zero is nobody's promise."""
    return lambda *words: all(function(*(decode(form, word >> s & 0xFFFF) for word in words)) != 0 for s in (0, 16))


ONE16, ONEBF = 0x3C003C00, 0x3F803F80

PROBES = (
    two(F + "add.f16", "add.rn.f16x2", "f16", numbers.add),
    two(F + "add.f16", "add.rn.bf16x2", "bf16", numbers.add),
    two(F + "add.f16", "sub.rn.f16x2", "f16", lambda a, b: numbers.add(a, numbers.negate(b))),
    two(F + "add.f16", "mul.rn.f16x2", "f16", numbers.mul),
    two(F + "add.f16", "mul.rn.bf16x2", "bf16", numbers.mul),
    two(M + "fma.bf16x2", "fma.rn.bf16x2", "bf16", numbers.fma, 3),
    relu_fma(M + "fma.bf16x2", "bf16"),
    two(H + "fma.f16", "fma.rn.f16x2", "f16", numbers.fma, 3),
    relu_fma(H + "fma.f16", "f16"),
    Probe(
        H + "fma.f16",
        "fma.rn.sat.f16x2",
        "fma.rn.sat.f16x2 %0, %1, %2, %3;",
        "f16x2",
        "f16x2 f16x2 f16x2",
        packed(F16, lambda a, b, c: numbers.saturate(numbers.fma(a, b, c))),
        keep=_not_zero(numbers.fma, F16),
    ),
    two(H + "max.f16", "max.f16x2", "f16", larger),
    two(H + "max.f16", "max.NaN.bf16x2", "bf16", larger_or_nan),
    two(H + "max.f16", "min.bf16x2", "bf16", smaller),
    Probe(F + "abs.f16", "abs.f16x2", "abs.f16x2 %0, %1;", "f16x2", "f16x2", lambda a: a & 0x7FFF7FFF),
    Probe(F + "abs.f16", "neg.bf16x2", "neg.bf16x2 %0, %1;", "bf16x2", "bf16x2", lambda a: a ^ 0x80008000),
    *chain(M + "fma.bf16x2", "fma.rn.bf16x2", "fma.rn.bf16x2 $x, $x, $a, $b;", "HFMA2", seeds=(ONEBF, 0x3F7F3F7F, 0x3C003C00)),
    *chain(H + "fma.f16", "fma.rn.f16x2", "fma.rn.f16x2 $x, $x, $a, $b;", "HFMA2", seeds=(ONE16, 0x3BFF3BFF, 0x14001400)),
    *chain(F + "add.f16", "add.rn.f16x2", "add.rn.f16x2 $x, $x, $a;", "HADD2|HFMA2", seeds=(ONE16, 0x14001400)),
    *chain(
        H + "max.f16",
        "max.bf16x2 min.bf16x2 pair",
        "max.bf16x2 $x, $x, $a; min.bf16x2 $x, $x, $b;",
        "HMNMX2",
        per=2,
        seeds=(ONEBF, 0x3F003F00, 0x40004000),
    ),
    *chain(H + "ex2.approx.f16", "ex2.approx.f16x2", "ex2.approx.f16x2 $x, $x;", "MUFU.EX2", per=2, most=4, count=128, seeds=(0,)),
    *chain(H + "tanh.approx.f16", "tanh.approx.f16x2", "tanh.approx.f16x2 $x, $x;", "MUFU.TANH", per=2, most=4, count=128, seeds=(ONE16,)),
)

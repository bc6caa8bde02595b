"""Bitwise functions, shifts, byte permutation."""

from __future__ import annotations

import numpy as np

from .chains import chain
from .integer import M32, signed
from .operands import default_cases
from .probe import Probe

L, M = "isa/logic/", "isa/math/"

LOP3_TABLES = (0x96, 0xCA, 0xE8, 0xEA, 0x01, 0x2D, 0x80, 0x1E)
"""xor of three, select, majority, and-or, nor of three, and three with no name."""

PRMT_MODES = {
    "f4e": ((3, 2, 1, 0), (4, 3, 2, 1), (5, 4, 3, 2), (6, 5, 4, 3)),
    "b4e": ((5, 6, 7, 0), (6, 7, 0, 1), (7, 0, 1, 2), (0, 1, 2, 3)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((3, 2, 1, 0), (3, 2, 1, 1), (3, 2, 2, 2), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (1, 1, 1, 0), (2, 2, 1, 0), (3, 2, 1, 0)),
    "rc16": ((1, 0, 1, 0), (3, 2, 3, 2), (1, 0, 1, 0), (3, 2, 3, 2)),
}
"""Source byte of result bytes 3, 2, 1, 0 by the selector's low two bits; bytes 0-3 are a's, 4-7 b's."""


def lop3(table: int):
    """The Boolean function of a truth table, bit by bit."""

    def model(a: int, b: int, c: int) -> int:
        return sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32))

    return model


def prmt(a: int, b: int, selector: int) -> int:
    """Each nibble of the selector picks a byte; its top bit asks for that byte's sign instead."""
    source = a | b << 32
    result = 0
    for i in range(4):
        nibble = selector >> 4 * i & 15
        byte = source >> 8 * (nibble & 7) & 0xFF
        result |= (byte if nibble < 8 else 0xFF * (byte >> 7)) << 8 * i
    return result


def prmt_mode(mode: str):
    """The permutation of a named mode."""

    def model(a: int, b: int, selector: int) -> int:
        source = a | b << 32
        order = PRMT_MODES[mode][selector & 3]
        return sum((source >> 8 * byte & 0xFF) << 8 * (3 - i) for i, byte in enumerate(order))

    return model


def shf(a: int, b: int, c: int, left: bool, clamp: bool) -> int:
    """b:a shifted; the upper word of a left shift, the lower of a right shift."""
    distance = min(c, 32) if clamp else c & 31
    pair = b << 32 | a
    return (pair << distance) >> 32 & M32 if left else pair >> distance & M32


def shifts() -> np.ndarray:
    """Edge values by every distance from 0 to 40 and by huge ones."""
    values = default_cases("shift values", ["b32"])[:40, 0]
    distances = np.array([*range(41), 63, 64, 255, 256, 1 << 16, 1 << 31, M32], dtype=np.uint64)
    return np.stack([each.ravel() for each in np.meshgrid(values, distances)], axis=1)


PROBES = (
    Probe(L + "and", "and.b32", "and.b32 %0, %1, %2;", "b32", "b32 b32", lambda a, b: a & b),
    Probe(L + "and", "or.b64", "or.b64 %0, %1, %2;", "b64", "b64 b64", lambda a, b: a | b),
    Probe(L + "xor", "xor.b32", "xor.b32 %0, %1, %2;", "b32", "b32 b32", lambda a, b: a ^ b),
    Probe(L + "not", "not.b32", "not.b32 %0, %1;", "b32", "b32", lambda a: ~a),
    Probe(L + "cnot", "cnot.b32", "cnot.b32 %0, %1;", "b32", "b32", lambda a: a == 0),
    Probe(L + "shl", "shl.b32", "shl.b32 %0, %1, %2;", "b32", "b32 u32", lambda a, b: a << min(b, 32), cases=shifts),
    Probe(L + "shl", "shl.b64", "shl.b64 %0, %1, %2;", "b64", "b64 u32", lambda a, b: a << min(b, 64)),
    Probe(L + "shr", "shr.u32", "shr.u32 %0, %1, %2;", "u32", "u32 u32", lambda a, b: a >> min(b, 32), cases=shifts),
    Probe(L + "shr", "shr.s32", "shr.s32 %0, %1, %2;", "s32", "s32 u32", lambda a, b: signed(a) >> min(b, 32), cases=shifts),
    *(
        Probe(
            L + "shf",
            f"shf.{way}.{mode}.b32",
            f"shf.{way}.{mode}.b32 %0, %1, %2, %3;",
            "b32",
            "b32 b32 u32",
            lambda a, b, c, way=way, mode=mode: shf(a, b, c, way == "l", mode == "clamp"),
        )
        for way in "lr"
        for mode in ("wrap", "clamp")
    ),
    *(
        Probe(M + "lop3", f"lop3.b32 {table:#04x}", f"lop3.b32 %0, %1, %2, %3, {table:#x};", "b32", "b32 b32 b32", lop3(table))
        for table in LOP3_TABLES
    ),
    Probe(
        M + "lop3",
        "lop3.or.b32 predicate",
        "{.reg .pred p, q; setp.ne.u32 q, %4, 0; lop3.or.b32 %0|p, %2, %3, %4, 0x80, q; selp.u32 %1, 1, 0, p;}",
        "b32 u32",
        "b32 b32 b32",
        lambda a, b, c: (a & b & c, int(a & b & c != 0 or c != 0)),
    ),
    Probe(M + "prmt", "prmt.b32", "prmt.b32 %0, %1, %2, %3;", "b32", "b32 b32 b32", lambda a, b, c: prmt(a, b, c)),
    *(
        Probe(M + "prmt", f"prmt.b32.{mode}", f"prmt.b32.{mode} %0, %1, %2, %3;", "b32", "b32 b32 b32", prmt_mode(mode))
        for mode in PRMT_MODES
    ),
    *chain(
        M + "lop3",
        "lop3.b32 prmt.b32 pair",
        "lop3.b32 $x, $x, $a, $b, 0x2D; prmt.b32 $x, $x, $x, 0x1032;",
        "LOP3|PRMT|SHF",
        per=2,
        note=", each a lop3 and a prmt",
    ),
    *chain(M + "prmt", "prmt.b32", "prmt.b32 $x, $x, $a, $b;", "PRMT", seeds=(0x01020304, 0x55667788, 0x1234)),
    *chain(L + "shf", "shf.l.wrap.b32", "shf.l.wrap.b32 $x, $x, $a, $b;", "SHF"),
    *chain(L + "shl", "shl.b32", "shl.b32 $x, $a, $x;", "SHF"),
)

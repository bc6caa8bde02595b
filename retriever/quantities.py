"""Values of a profile in words: base units scaled to what a person reads."""

from __future__ import annotations

import math

_DECIMAL = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_TIME = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))
_SYMBOLS = {"byte": "B", "byte/s": "B/s", "hz": "Hz", "flop": "FLOP", "flop/s": "FLOP/s"}
_AS_THEY_ARE = ("%", "warp", "register/thread", "thread/inst", "inst/cycle", "wave", "sector/request", "byte/sector", "")


def quantity(value: float, unit: str) -> str:
    """`value` with its unit, three or four significant digits, powers of 1000: `33.6 MB`, `1.98 GHz`, `3.25 ms`, `81.7 %`."""
    if math.isnan(value):
        return "undefined"
    if unit == "ns":
        return _scaled(value, _TIME, "")
    if unit in _AS_THEY_ARE:
        return f"{_digits(value)} {unit}".rstrip()
    return _scaled(value, _DECIMAL, _SYMBOLS.get(unit, unit))


def ratio_text(before: float, after: float) -> str:
    """How `after` compares with `before`: `2.31x`, `from zero`; empty where a ratio means nothing."""
    if min(before, after) < 0 or math.isnan(before + after):
        return ""
    if before == after:
        return "1.00x"
    if not before:
        return "from zero"
    ratio = after / before
    return f"{ratio:,.0f}x" if abs(ratio) >= 100 else "under 0.001x" if 0 < ratio < 0.001 else f"{ratio:.3g}x"


def _scaled(value: float, steps: tuple[tuple[float, str], ...], symbol: str) -> str:
    factor, prefix = next(((f, p) for f, p in steps if abs(value) >= f), steps[-1])
    joint = " " if prefix and symbol not in _SYMBOLS.values() and symbol else ""  # 33.6 MB, but 50.8 M wavefront
    return f"{_digits(value / factor)} {prefix}{joint}{symbol}".rstrip()


def _digits(value: float) -> str:
    if value == int(value) and abs(value) < 10_000:
        return f"{int(value)}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"

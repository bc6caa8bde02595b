"""Numbers and units of a report in base units, whatever its locale and scale."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

ENOUGH_VOTES = 64  # a guess: one launch's table shows the decimal sign more often than that, so later rows add nothing
GROUP_SPACES = str.maketrans("", "", " \u00a0\u202f'’")  # French and Swiss digit grouping

STYLE_NOTE = "numbers: "
"""What the note on how a report writes numbers begins with."""

PREFIXES = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
"""Nsight Compute scales by powers of 1000, bytes included: 102.40 Kbyte of shared memory is 102400 bytes."""

SECONDS_IN_NS = {
    **dict.fromkeys(("s", "sec", "second"), 10**9),
    **dict.fromkeys(("ms", "msec", "msecond"), 10**6),
    **dict.fromkeys(("us", "µs", "μs", "usec", "usecond"), 10**3),
    **dict.fromkeys(("ns", "nsec", "nsecond"), 1),
}
"""Spellings of time, 2019 (`usecond`) to now (`us`), in nanoseconds."""

_PREFIXED = re.compile(r"([KkMGTP])(bytes?|hz|inst|cycle|sector|request|warp|thread|wavefront|flop|op)", re.IGNORECASE)
_TYPED_BYTES = re.compile(r"([kKMGTP]?)B")
"""How people write bytes; `Gb`, `GiB` and the like mean something else and stay unknown."""
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?")
PLAIN_NUMBER = r"-?(?:\d{1,15}|[1-9]\d{0,2}(?:,\d{3}){1,5})(?:\.\d{1,12})?"
_PLAIN = re.compile(PLAIN_NUMBER)
"""What nearly every number of a file with a decimal point looks like; a shortcut past the rules below, with the same outcome."""

_WELL_FORMED = {
    ".": re.compile(r"[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?(?:[eE][+-]?\d+)?"),
    ",": re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d+)?(?:[eE][+-]?\d+)?"),
}
"""What a number looks like for each decimal sign; keeps lists such as `0,1,2` from being read as one number."""
_MISSING = re.compile(r"(?:\(!\)\s*)?(?:n/?a|no data|[+-]?nan|[+-]?inf(?:inity)?|-|)", re.IGNORECASE)


@lru_cache(maxsize=4096)
def base_unit(unit: str) -> tuple[str, float]:
    """The base unit of a printed one and the factor to it: `Gbyte/second` gives `("byte/s", 1e9)`.

    Words that are not known stay as they are with factor 1, so that no value is scaled on a guess.
    """
    numerator, slash, denominator = unit.strip().partition("/")
    if not slash:
        return _numerator(numerator)
    top, factor = _numerator(numerator)
    if denominator in SECONDS_IN_NS:
        per_second = factor * (10**9 / SECONDS_IN_NS[denominator])
        return ("hz" if top == "cycle" else f"{top}/s"), per_second
    bottom, times = _numerator(denominator)
    return f"{top}/{bottom}", factor * times  # as ncu scales them: it prints 2614 %/byte as 2.61 %/Kbyte


def _numerator(word: str) -> tuple[str, float]:
    if word in SECONDS_IN_NS:
        return "ns", SECONDS_IN_NS[word]
    match = _PREFIXED.fullmatch(word)
    if match:
        return _singular(match[2]), PREFIXES[match[1].upper()]
    if typed := _TYPED_BYTES.fullmatch(word):
        return "byte", PREFIXES.get(typed[1].upper(), 1)
    return _singular(word), 1


def _singular(word: str) -> str:
    return {"hz": "hz", "byte": "byte", "bytes": "byte", "cycles": "cycle"}.get(word.lower(), word)


_COUNTED = frozenset(
    (
        "%",
        "#",
        "byte",
        "hz",
        "ns",
        "inst",
        "instruction",
        "cycle",
        "sector",
        "sectors",
        "request",
        "warp",
        "thread",
        "threads",
        "block",
        "register",
        "SM",
        "branches",
        "cluster",
        "sample",
        "pass",
        "wavefront",
        "flop",
        "op",
        "bank",
        "transaction",
    )
)
"""Base units, and what ncu counts in; a word that is none of them is prose."""


@lru_cache(maxsize=4096)
def is_unit(word: str) -> bool:
    """True for what ncu or a person writes as a unit: `Gbyte/s`, `GB/s`, `inst/cycle`, `%`; false for any other word."""
    top, slash, bottom = word.partition("/")
    return _numerator(top)[0] in _COUNTED and (not slash or _numerator(bottom)[0] in _COUNTED)


_EXPECTED = (
    (re.compile(r"\.pct\b|_pct$|pct_of_peak"), ("%",)),
    (re.compile(r"time_duration|interval_time"), ("ns",)),
    (re.compile(r"__bytes\w*\.\w+\.per_second$"), ("byte/s",)),
    (re.compile(r"cycles_elapsed\.\w+\.per_second$"), ("hz",)),
    (re.compile(r"__bytes\w*\.(?:sum|avg|min|max)$"), ("byte",)),
    (re.compile(r"^launch__(?:shared_mem_(?:config_size|per_block)|persisting_l2_cache_size)|buffer_size_bytes$"), ("byte", "byte/block")),
    (re.compile(r"^launch__(?:grid_size|block_size|waves_per_multiprocessor|stack_size|cluster_size|tpc_count|uses_green)"), ("",)),
    (re.compile(r"^launch__registers_per_thread$"), ("register/thread", "")),
    (re.compile(r"^launch__occupancy_limit"), ("block", "")),
    (re.compile(r"__warps_(?:active|eligible)\.avg\.per_cycle|__maximum_warps_avg"), ("warp", "")),
    (re.compile(r"__inst_(?:executed|issued)\.avg\.per_cycle"), ("inst/cycle", "")),
    (re.compile(r"__inst_(?:executed|issued)\.(?:sum|avg)$"), ("inst", "")),
    (re.compile(r"__cycles_(?:active|elapsed)\.(?:sum|avg|max)$"), ("cycle", "")),
)
"""What a metric's name promises; with an empty unit among them a lost one does no harm, since the profiler never scales these."""


@lru_cache(maxsize=8192)
def expected_units(metric: str) -> tuple[str, ...]:
    """The base units that a metric's name promises; empty where it promises none."""
    return next((units for pattern, units in _EXPECTED if pattern.search(metric)), ())


def scaled(value: float, factor: float) -> float:
    """`value` in base units, to the digits that a float is sure of: 16.38 Kbyte are 16380 bytes, and 33.84 Gbyte 33840000000."""
    return value if factor == 1 else float(f"{value * factor:.15g}")


def is_missing(cell: str) -> bool:
    """True for what stands where a value could not be measured: `n/a`, `(!) nan`, `-` or nothing."""
    return _MISSING.fullmatch(cell.strip()) is not None


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """How one file or launch writes numbers: `decimal` is the decimal sign, the other of `.` and `,` groups digits."""

    decimal: str
    note: str
    """The rule used, for the reader of the report; begins with STYLE_NOTE."""
    plain: bool = False
    """True where numbers are written as in English, or none shows how, and no value speaks against it."""

    def number(self, cell: str, unit: str = "") -> float | None:
        """The finite number in `cell`, not scaled; None for text and missing values.

        A number that shows its own decimal sign is read by it; only `ddd.ddd` and `ddd,ddd` need the file's style.
        """
        if self.decimal == "." and _PLAIN.fullmatch(cell):
            return float(cell.replace(",", ""))
        return self._slow(cell.translate(GROUP_SPACES), unit)

    def _slow(self, token: str, unit: str) -> float | None:
        if not _NUMBER.fullmatch(token):
            return self._instanced(token, unit)
        decimal = _decimal_sign(token)
        if decimal is None:
            decimal = "." if unit == "%" and "," not in token else self.decimal
        if not _WELL_FORMED[decimal].fullmatch(token):
            return None
        grouping = "," if decimal == "." else "."
        value = float(token.replace(grouping, "").replace(",", "."))
        return value if math.isfinite(value) else None

    def _instanced(self, token: str, unit: str) -> float | None:
        """The total in front of a list of instances: `12 (4; 8)`."""
        head, bracket, _ = token.partition("(")
        return self._slow(head, unit) if bracket and _NUMBER.fullmatch(head) else None


def _decimal_sign(token: str) -> str | None:
    """`.` or `,` when this number alone shows which it is; None when it has neither or could be read both ways."""
    signs = [sign for sign in token if sign in ".,"]
    if not signs:
        return None
    if len(set(signs)) == 2:
        return signs[-1]
    if len(signs) > 1:
        return "," if signs[0] == "." else "."
    whole, _, rest = token.lstrip("+-").replace(",", ".").partition(".")
    digits = re.split("[eE]", rest)[0]
    if len(digits) != 3 or len(whole) > 3 or whole.startswith("0"):
        return signs[0]
    return None


def reads_two_ways(cell: str, unit: str = "") -> bool:
    """Whether nothing in a number says if its sign is for decimals or groups digits: `1,234`, `12.345` unless it is a percentage."""
    token = cell.translate(GROUP_SPACES)
    signs = "," if unit == "%" else ".,"
    return _NUMBER.fullmatch(token) is not None and any(sign in token for sign in signs) and _decimal_sign(token) is None


def number_style(cells: Iterable[str]) -> NumberStyle:
    """The style that most of the first 64 telling numbers show; a decimal point when none does.

    `cells` is read no further than needed.
    """
    return _style(*_votes(cells))


def own_style(cells: Iterable[str], others: NumberStyle) -> NumberStyle:
    """The style of one launch: its own where its telling numbers agree, else that of the file, `others`."""
    points, commas = _votes(cells)
    return _style(points, commas) if bool(points) != bool(commas) else others


def _votes(cells: Iterable[str]) -> tuple[int, int]:
    """How many of the first telling numbers have a point for decimals, and how many a comma."""
    votes = {".": 0, ",": 0}
    for cell in cells:
        token = cell.translate(GROUP_SPACES)
        sign = _decimal_sign(token) if _NUMBER.fullmatch(token) else None
        if sign and _WELL_FORMED[sign].fullmatch(token):
            votes[sign] += 1
            if sum(votes.values()) >= ENOUGH_VOTES:
                break
    return votes["."], votes[","]


def _style(points: int, commas: int) -> NumberStyle:
    if commas > points:
        against = f", against {points}" if points else ""
        return NumberStyle(",", f"numbers: comma is the decimal sign and point groups digits (shown by {commas} values{against})")
    if points:
        against = f", against {commas}" if commas else ""
        return NumberStyle(
            ".", f"numbers: point is the decimal sign and comma groups digits (shown by {points} values{against})", not commas
        )
    return NumberStyle(".", "numbers: no value shows the decimal sign; a point is read as decimal, a comma as grouping", True)

"""Metrics that follow from others of the same launch, for reports that lack them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from retriever.reports.profile import Metric, Profile

DERIVED = "derived"
"""Location of every metric made here."""

WARP = 32  # threads a warp, every NVIDIA GPU so far
LIMITS = tuple(f"launch__occupancy_limit_{what}" for what in ("blocks", "registers", "shared_mem", "warps", "barriers"))
HALF_A_DIGIT = 0.005  # waves are printed with two decimals
NEEDED_LIMITS = frozenset(LIMITS[:4])  # barriers joined the Occupancy section later than the other four


@dataclass(frozen=True, slots=True)
class Rule:
    """How one metric follows from others."""

    name: str
    unit: str
    needs: tuple[str, ...]
    compute: Callable[..., float]
    """Takes the values of `needs` in order; a ZeroDivisionError means that it does not follow."""


def _ratio(name: str, unit: str, top: str, bottom: str, scale: float = 1.0) -> Rule:
    return Rule(name, unit, (top, bottom), lambda a, b: scale * a / b)


_PER_SECOND = 1e9  # nanoseconds in a second
_SECTORS, _REQUESTS = "l1tex__t_sectors_pipe_lsu_mem_global_op_", "l1tex__t_requests_pipe_lsu_mem_global_op_"

RULES = (
    Rule("launch__thread_count", "thread", ("launch__grid_size", "launch__block_size"), lambda grid, block: grid * block),
    *(
        _ratio(
            f"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{op}.ratio",
            "sector/request",
            f"{_SECTORS}{op}.sum",
            f"{_REQUESTS}{op}.sum",
        )
        for op in ("ld", "st", "atom", "red")
    ),
    Rule("dram__bytes.sum", "byte", ("dram__bytes_read.sum", "dram__bytes_write.sum"), lambda read, write: read + write),
    *(
        _ratio(f"dram__bytes{part}.sum.per_second", "byte/s", f"dram__bytes{part}.sum", "gpu__time_duration.sum", _PER_SECOND)
        for part in ("", "_read", "_write")
    ),
    _ratio("gpu__time_duration.sum", "ns", "gpc__cycles_elapsed.max", "gpc__cycles_elapsed.avg.per_second", _PER_SECOND),
    _ratio("gpc__cycles_elapsed.avg.per_second", "hz", "gpc__cycles_elapsed.max", "gpu__time_duration.sum", _PER_SECOND),
    Rule(
        "smsp__issue_active.avg.pct_of_peak_sustained_active",
        "%",
        ("smsp__issue_active.avg.per_cycle_active",),
        lambda per_cycle: 100 * per_cycle,
    ),
    Rule(
        "smsp__issue_inst0.avg.pct_of_peak_sustained_active",
        "%",
        ("smsp__issue_active.avg.pct_of_peak_sustained_active",),
        lambda issuing: 100 - issuing,
    ),
)
"""Applied in order, so that a later one may use what an earlier one made. Cycles over frequency gives the duration to about a
percent, since the frequency is printed with three digits. A scheduler issues one instruction a cycle at most, hence 100 x."""


def derived_metrics(profile: Profile) -> dict[str, Metric]:
    """The metrics that `profile` lacks and that follow from those it has, each with location `derived`."""
    found: dict[str, Metric] = {}

    def value(name: str) -> float | None:
        return found[name].value if name in found else profile.value(name)

    def keep(name: str, unit: str, number: float | None) -> None:
        if number is not None and math.isfinite(number) and value(name) is None:
            found[name] = Metric(number, unit, DERIVED)

    keep("launch__grid_size", "", math.prod(profile.grid) if profile.grid else None)
    keep("launch__block_size", "", math.prod(profile.block) if profile.block else None)
    for rule in RULES:
        keep(rule.name, rule.unit, _apply(rule, [value(name) for name in rule.needs]))
    _occupancy(value, keep)
    return found


def _apply(rule: Rule, values: list[float | None]) -> float | None:
    if any(number is None for number in values):
        return None
    try:
        return rule.compute(*values)
    except ZeroDivisionError:
        return None


def _occupancy(value: Callable[[str], float | None], keep: Callable[[str, str, float | None], None]) -> None:
    """Waves and theoretical occupancy, which need the smallest block limit."""
    limits: Mapping[str, float] = {name: limit for name in LIMITS if (limit := value(name)) is not None}
    if not limits.keys() >= NEEDED_LIMITS:
        return
    blocks = min(limits.values())
    grid, threads = value("launch__grid_size"), value("launch__block_size")
    sms = value("launch__sm_count") or value("device__attribute_multiprocessor_count")
    if not sms and not value("launch__cluster_size"):
        sms = _sms(grid, blocks, value("launch__waves_per_multiprocessor"))
        keep("launch__sm_count", "SM", sms)
    if grid and sms and blocks:
        keep("launch__waves_per_multiprocessor", "", grid / (sms * blocks))
    most = value("device__attribute_max_warps_per_multiprocessor")
    if threads and blocks:
        warps = blocks * math.ceil(threads / WARP)
        keep("sm__maximum_warps_avg_per_active_cycle", "warp", warps)
        keep("sm__maximum_warps_per_active_cycle_pct", "%", 100 * warps / most if most else None)


def _sms(grid: float | None, blocks: float, waves: float | None) -> float | None:
    """The SMs that make `grid` blocks, `blocks` of them at a time on each, `waves` waves; None where the printed digits leave a choice."""
    if not grid or not blocks or waves is None or waves <= HALF_A_DIGIT:
        return None
    least, most = (grid / ((waves + error) * blocks) for error in (HALF_A_DIGIT, -HALF_A_DIGIT))
    possible = range(math.ceil(least), math.floor(most) + 1)
    return float(possible[0]) if len(possible) == 1 else None


def with_derived(profile: Profile) -> Profile:
    """`profile` with `derived_metrics` added; what it measured stands."""
    found = derived_metrics(profile)
    return dataclasses.replace(profile, metrics={**profile.metrics, **found}) if found else profile

"""Nsight Compute's rules recognised by how they begin, and the metrics that their sentences state, for pastes that lost the tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from retriever.reports.profile import RuleMessage
from retriever.reports.units import NumberStyle

_KERNEL = r"(?:kernel|workload)"
_BEGINNINGS = (
    ("SpeedOfLight", rf"This {_KERNEL} is utilizing greater than|The {_KERNEL} is utilizing greater than"),
    ("SpeedOfLight", rf"This {_KERNEL} grid is too small|This {_KERNEL} exhibits low compute throughput"),
    ("SpeedOfLight", r"(?:Memory|Compute) is more heavily utilized than|Compute and Memory are well-balanced"),
    ("SpeedOfLight_RooflineChart", r"The ratio of peak float"),
    (
        "ComputeWorkloadAnalysis",
        r"All (?:compute )?pipelines are under-utilized|[A-Za-z0-9]+(?: \([^)]*\))? is the highest-utilized pipeline",
    ),
    ("MemoryWorkloadAnalysis_Tables", r"The memory access pattern for"),
    ("MemoryWorkloadAnalysis_Chart", r"Out of the [\d.,]+ bytes sent to the L2 Compression"),
    ("SchedulerStats", r"Every scheduler is capable of issuing"),
    ("WarpStateStats", rf"On average,? each warp of this {_KERNEL} spends|Check the (?:Warp Stall Sampling|Source Counters)"),
    ("WarpStateStats", r"Instructions are executed in warps"),
    ("InstructionStats", rf"This {_KERNEL} executes [\d.,]+ fused and"),
    (
        "LaunchStats",
        r"The grid for this launch is configured to execute only|A wave of thread blocks is defined as|If you execute __syncthreads",
    ),
    ("LaunchStats", r"Threads are executed in groups of 32"),
    ("Occupancy", r"The difference between calculated theoretical|The [\d.,]+ theoretical warps per scheduler"),
    ("Occupancy", r"This kernel's theoretical occupancy"),
    ("WorkloadDistribution", r"One or more (?:SMs|SMSPs|L1 Slices|L2 Slices|DRAM Slices) have a much"),
    ("SourceCounters", r"This kernel has uncoalesced (?:global|shared) access"),
)
"""Section identifier and the first words of its rules, 2020 to 2025."""
_BEGINS = re.compile("|".join(f"(?P<_{at}>{pattern})" for at, (_, pattern) in enumerate(_BEGINNINGS)))


def section_of_rule(text: str) -> str | None:
    """The section whose rule begins with `text`; None for any other sentence."""
    match = _BEGINS.match(text)
    return _BEGINNINGS[int(match.lastgroup[1:])][0] if match and match.lastgroup else None


@dataclass(frozen=True, slots=True)
class _Statement:
    """A sentence of a rule and the metrics that its groups are."""

    pattern: re.Pattern[str]
    metrics: tuple[tuple[str, str, Callable[[float], float]], ...]
    """Metric, base unit and how the printed number becomes its value, by group."""


def _same(value: float) -> float:
    return value


def _inverse(value: float) -> float:
    return 1 / value if value else float("nan")


def _statement(pattern: str, *metrics: tuple[str, str] | tuple[str, str, Callable[[float], float]]) -> _Statement:
    return _Statement(re.compile(pattern.replace("N", r"(\d[\d.,]*?)").replace(" ", r"\s+")), tuple((*m, _same)[:3] for m in metrics))


_OCCUPANCY = ("sm__maximum_warps_per_active_cycle_pct", "%")
_CONFLICTS = (
    r"in N bank conflicts, which represent [\d.,]+% of the overall N wavefronts for shared {}",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum",
)
STATEMENTS = (
    _statement(r"only issues an instruction every N cycles", ("smsp__issue_active.avg.per_cycle_active", "", _inverse)),
    _statement(r"an average of N active warps per scheduler", ("smsp__warps_active.avg.per_cycle_active", "warp")),
    _statement(r"only an average of N warps were eligible", ("smsp__warps_eligible.avg.per_cycle_active", "warp")),
    _statement(
        r"calculated theoretical \(N%\) and measured achieved occupancy \(N%\)",
        _OCCUPANCY,
        ("sm__warps_active.avg.pct_of_peak_sustained_active", "%"),
    ),
    _statement(r"theoretical occupancy \(N%\) is limited", _OCCUPANCY),
    _statement(
        r"configured to execute only N blocks, which is less than the GPU's N multiprocessors",
        ("launch__grid_size", ""),
        ("launch__sm_count", "SM"),
    ),
    _statement(r"achieves an average of N threads being active per cycle", ("smsp__thread_inst_executed_per_inst_executed.ratio", "")),
    _statement(r"further reduced to N threads per warp", ("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", "")),
    *(
        _statement(
            rf"pattern for {space} {word} (?:L1TEX|L2|DRAM) might not be optimal\. On average, only N of the 32 bytes transmitted",
            (f"smsp__sass_average_data_bytes_per_sector_mem_{space}_op_{op}.ratio", "byte/sector"),
        )
        for space in ("global", "local")
        for word, op in (("loads from", "ld"), ("stores to", "st"))
    ),
    *(
        _statement(_CONFLICTS[0].format(word), (_CONFLICTS[1].format(op), ""), (_CONFLICTS[2].format(op), ""))
        for word, op in (("loads", "ld"), ("stores", "st"))
    ),
)
"""Sentences as they are printed in English, the only language of Nsight Compute."""


def metrics_in_sentences(rules: Iterable[RuleMessage], style: NumberStyle) -> dict[str, tuple[float, str, str]]:
    """Metric name to value, base unit and the rule's place, for every metric that a rule states; as exact as the rule prints it."""
    found: dict[str, tuple[float, str, str]] = {}
    for rule in rules:
        for statement in STATEMENTS:
            match = statement.pattern.search(rule.text)
            for (name, unit, scale), token in zip(statement.metrics, match.groups() if match else ()):
                number = style.number(token.rstrip(".,"), unit)
                if number is not None and scale(number) == scale(number):
                    found.setdefault(name, (scale(number), unit, rule.location))
    return found

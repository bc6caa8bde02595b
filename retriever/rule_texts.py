"""Metrics read from the words of Nsight Compute's rules on accesses and pipes, for pages that print the rule and not the metrics."""

from __future__ import annotations

import re

from retriever.reports.profile import Profile

_EXCESS = re.compile(
    r"uncoalesced\s+(global|shared)\s+accesses\s+resulting\s+in\s+a\s+total\s+of\s+(\d+)\s+excessive\s+\w+"
    r"\s+\(\d+%\s+of\s+the\s+total\s+(\d+)\s+"
)
_ACCESSES = {"global": "memory_l2_theoretical_sectors_global", "shared": "memory_l1_wavefronts_shared"}

_PIPE = re.compile(r"([A-Za-z0-9]+)(?:\s+\([^)]*\))?\s+is\s+the\s+highest-utilized\s+pipeline\s+\((\d+(?:\.\d+)?)%\)\s+based\s+on\s+(\w+)")
_BY_INSTRUCTIONS = re.compile(r"highest\s+utilized\s+pipeline\s+\((\d+(?:\.\d+)?)%\)\s+is\s+(\w+)")
_PIPES = {
    "ALU": "sm__pipe_alu_cycles_active",
    "FMA": "sm__pipe_fma_cycles_active",
    "FP64": "sm__pipe_fp64_cycles_active",
    "XU": "sm__inst_executed_pipe_xu",
    "Tensor": "sm__pipe_tensor_cycles_active",
}
"""Names of pipes in the rule HighPipeUtilization; those that no guide asks for are left out."""


def metrics_in_rules(profile: Profile) -> dict[str, float]:
    """Metric name to value, for wasted sectors and wavefronts and for the busiest pipe, where a rule states them in English."""
    found: dict[str, float] = {}
    for rule in profile.rules:
        if excess := _EXCESS.search(rule.text):
            name = _ACCESSES[excess[1]]
            found |= {name: float(excess[3]), f"{name}_ideal": float(excess[3]) - float(excess[2])}
        if pipe := _PIPE.search(rule.text):
            busy = {pipe[1]: float(pipe[2])} | {inner[2]: float(inner[1]) for inner in _BY_INSTRUCTIONS.finditer(rule.text)}
            names = {_PIPES[name]: share for name, share in busy.items() if name in _PIPES}
            found |= {f"{name}.avg.pct_of_peak_sustained_{pipe[3]}": share for name, share in names.items()}
    return found

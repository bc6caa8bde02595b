"""Metrics read from the words of Nsight Compute's rules, for pages that print the rule and not the metrics."""

from __future__ import annotations

import re

from retriever.reports.profile import Profile
from retriever.reports.stall_names import WARP_CYCLES, stall_metric

_PHRASES = {
    "scoreboard dependency on a L1TEX": "long_scoreboard",
    "scoreboard dependency on a MIO": "short_scoreboard",
    "scoreboard dependency on an MIO": "short_scoreboard",
    "at a CTA barrier": "barrier",
    "instruction cache miss": "no_instruction",
    "execution pipe to be available": "math_pipe_throttle",
    "MIO (memory input/output) instruction queue": "mio_throttle",
    "queue for local and global": "lg_throttle",
    "fixed latency execution dependency": "wait",
    "immediate constant cache": "imc_miss",
}
"""How the rule describes each stall, in versions from 2019 to 2025."""

_SPENT = re.compile(r"spends\s+(\d+(?:\.\d+)?)\s+cycles\s+being\s+stalled\s+(.*)", re.DOTALL)
_TOTAL = re.compile(r"total\s+average\s+of\s+(\d+(?:\.\d+)?)\s+cycles\s+between")

_EXCESS = re.compile(
    r"uncoalesced\s+(global|shared)\s+accesses\s+resulting\s+in\s+a\s+total\s+of\s+(\d+)\s+excessive\s+\w+"
    r"\s+\(\d+%\s+of\s+the\s+total\s+(\d+)\s+"
)
_ACCESSES = {"global": "memory_l2_theoretical_sectors_global", "shared": "memory_l1_wavefronts_shared"}

_PIPE = re.compile(r"([A-Za-z0-9]+)(?:\s+\([^)]*\))?\s+is\s+the\s+highest-utilized\s+pipeline\s+\((\d+(?:\.\d+)?)%\)\s+based\s+on\s+(\w+)")
_DOMINATED_BY = re.compile(r"dominated\s+by\s+its\s+([A-Za-z0-9]+)(?:\s+\([^)]*\))?\s+sub-pipeline")
_BY_INSTRUCTIONS = re.compile(
    r"number\s+of\s+executed\s+instructions,\s+the\s+highest\s+utilized\s+pipeline\s+\((\d+(?:\.\d+)?)%\)\s+is\s+([A-Za-z0-9]+)(?=\.)"
)
_PIPES = {
    "ALU": "sm__pipe_alu_cycles_active",
    "FMA": "sm__pipe_fma_cycles_active",
    "FP64": "sm__pipe_fp64_cycles_active",
    "XU": "sm__inst_executed_pipe_xu",
    "Tensor": "sm__pipe_tensor_cycles_active",
}
"""Names of pipes in the rule HighPipeUtilization, by cycles; those that no guide asks for are left out. A pipe that is the sum of others
is as busy as the one that dominates it, to the printed digit on twelve of our reports."""
_INSTRUCTIONS_ONLY = {"LSU": "sm__inst_executed_pipe_lsu", "XU": "sm__inst_executed_pipe_xu"}
"""The same by executed instructions, which is another share: a pipe of 98.6 % of its cycles can have 32.9 % of its instructions."""

_IMBALANCE = re.compile(r"One\s+or\s+more\s+SMs\s.*Maximum\s+instance\s+value\s+is\s+(\d+(?:\.\d+)?)%\s+above\s+the\s+average", re.DOTALL)
"""The share is of the maximum, whatever the words say: on 20 of our reports average / (1 - share) is the measured maximum."""
MOST_UNEVEN = 99  # percent, printed with two decimals: beyond it they no longer give the maximum to a percent
_SM_CYCLES = "sm__cycles_active.{}"


def metrics_in_rules(profile: Profile) -> dict[str, float]:
    """Metric name to value of what a rule states in English: stalls, wasted sectors and wavefronts, the busiest pipe and the busiest SM."""
    found: dict[str, float] = {}
    for rule in profile.rules:
        excess = _EXCESS.search(rule.text)
        if excess and int(excess[2]) <= int(excess[3]):
            name = _ACCESSES[excess[1]]
            found |= {name: float(excess[3]), f"{name}_ideal": float(excess[3]) - float(excess[2])}
        found |= _stalls(rule.text) | _busiest_pipe(rule.text)
        uneven, average = _IMBALANCE.search(rule.text), profile.value(_SM_CYCLES.format("avg"))
        if uneven and average is not None and float(uneven[1]) <= MOST_UNEVEN:
            found[_SM_CYCLES.format("max")] = average / (1 - float(uneven[1]) / 100)
    return found


def _stalls(text: str) -> dict[str, float]:
    """The stall that the rule CPIStall explains, and all cycles between two instructions."""
    spent = _SPENT.search(text)
    if not spent:
        return {}
    cause = " ".join(spent[2].split())
    found = {}
    if places := [(cause.find(phrase), reason) for phrase, reason in _PHRASES.items() if phrase in cause]:
        found[stall_metric(min(places)[1])] = float(spent[1])
    if total := _TOTAL.search(cause):
        found[WARP_CYCLES] = float(total[1])
    return found


def _busiest_pipe(text: str) -> dict[str, float]:
    """The utilisation of the pipe that the rule names, and of the one that dominates it."""
    pipe = _PIPE.search(text)
    if not pipe:
        return {}
    busiest = [pipe[1], *_DOMINATED_BY.findall(text)]
    shares = {_PIPES[name]: float(pipe[2]) for name in busiest if name in _PIPES}
    shares |= {_INSTRUCTIONS_ONLY[name]: float(share) for share, name in _BY_INSTRUCTIONS.findall(text) if name in _INSTRUCTIONS_ONLY}
    return {f"{name}.avg.pct_of_peak_sustained_{pipe[3]}": share for name, share in shares.items()}

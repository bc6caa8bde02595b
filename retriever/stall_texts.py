"""Stall metrics read from the words of Nsight Compute's CPIStall rule, for pages that print the rule and not the metrics."""

from __future__ import annotations

import re

from retriever.reports.profile import Profile

LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"

PHRASES = {
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


def stalls_in_rules(profile: Profile) -> dict[str, float]:
    """Metric name to cycles per issued instruction, for every stall that a rule of the report spells out in English."""
    found: dict[str, float] = {}
    for rule in profile.rules:
        spent = _SPENT.search(rule.text)
        if not spent:
            continue
        cause = " ".join(spent[2].split())
        places = [(cause.find(phrase), reason) for phrase, reason in PHRASES.items() if phrase in cause]
        if places:
            found[STALL.format(min(places)[1])] = float(spent[1])
        if total := _TOTAL.search(cause):
            found[LATENCY] = float(total[1])
    return found

"""Names of what a warp waits for: in metrics of cycles, in metrics of samples, in the columns of the source page, in words."""

from __future__ import annotations

WARP_CYCLES = "smsp__average_warp_latency_per_inst_issued.ratio"
"""Cycles between two instructions of a warp, of which each stall takes its part."""

STALLS = {
    "long_scoreboard": "long scoreboard",
    "short_scoreboard": "short scoreboard",
    "barrier": "barrier",
    "membar": "memory fence",
    "lg_throttle": "LG throttle",
    "mio_throttle": "MIO throttle",
    "tex_throttle": "TEX throttle",
    "math_pipe_throttle": "math pipe throttle",
    "wait": "wait (fixed latency)",
    "no_instruction": "no instruction",
    "imc_miss": "constant cache miss",
    "branch_resolving": "branch resolving",
    "dispatch_stall": "dispatch",
    "gmma": "wgmma",
    "drain": "drain",
    "sleeping": "sleeping",
    "misc": "misc",
    "not_selected": "not selected",
    "selected": "selected (issuing)",
}
"""Stall reason to its name in words, in the order in which a stack is drawn."""

SAMPLED_REASONS = (
    *("barrier", "branch_resolving", "drain", "membar", "misc", "not_selected", "selected", "sleeping", "wait"),
    *("dispatch_stall", "imc_miss", "lg_throttle", "long_scoreboard", "math_pipe_throttle", "mio_throttle", "no_instructions"),
    *("short_scoreboard", "tex_throttle", "warpgroup_arrive"),
)
"""The same reasons as the metrics of samples spell them: two of them otherwise."""

SHORT = {
    "branch_resolve": "branch_resolving",
    "dispatch": "dispatch_stall",
    "gmma": "warpgroup_arrive",
    "imc": "imc_miss",
    "lg": "lg_throttle",
    "long_sb": "long_scoreboard",
    "math": "math_pipe_throttle",
    "mio": "mio_throttle",
    "no_inst": "no_instructions",
    "short_sb": "short_scoreboard",
    "sleep": "sleeping",
    "tex": "tex_throttle",
}
"""Names in columns and labels (`stall_long_sb`) to those of SAMPLED_REASONS, where the two differ."""

SAMPLES = "smsp__pcsamp_sample_count"


def stall_metric(reason: str) -> str:
    """The metric of one of STALLS: cycles a warp waits for it, for each instruction issued."""
    return f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"


def sampled_metric(reason: str) -> str:
    """The metric of one of SAMPLED_REASONS: warp samples taken at it."""
    return f"smsp__pcsamp_warps_issue_stalled_{reason}"


def sampled_reason(column: str) -> str | None:
    """The reason a column `stall_...` counts; None for other columns and for the `(Not Issued)` variants."""
    if not column.startswith("stall_") or "(" in column:
        return None
    short = column.removeprefix("stall_").strip()
    return SHORT.get(short, short)

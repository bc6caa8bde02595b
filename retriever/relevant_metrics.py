"""Metrics that an expert looks at beyond those that the guides name: for comparisons and pictures."""

from __future__ import annotations

from dataclasses import dataclass

WARP_CYCLES = "smsp__average_warp_latency_per_inst_issued.ratio"
STALL_UNIT = "cycle/inst"


@dataclass(frozen=True, slots=True)
class Shown:
    """A metric worth showing when it moves, though no guide of the two launches names it."""

    metric: str
    """Name or expression; the first that both reports have is shown of equal labels."""
    label: str
    unit: str


_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
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


def stall_metric(reason: str) -> str:
    """The metric of a stall reason: cycles a warp waits for it, for each instruction issued."""
    return _STALL.format(reason)


_ELAPSED = ".avg.pct_of_peak_sustained_elapsed"
RELEVANT = (
    Shown(f"sm__throughput{_ELAPSED}", "compute throughput", "%"),
    Shown(f"gpu__compute_memory_throughput{_ELAPSED}", "memory throughput", "%"),
    Shown(f"gpu__dram_throughput{_ELAPSED}", "DRAM throughput", "%"),
    Shown(f"lts__throughput{_ELAPSED}", "L2 throughput", "%"),
    Shown("l1tex__throughput.avg.pct_of_peak_sustained_active", "L1/TEX throughput", "%"),
    Shown("dram__bytes_read.sum", "bytes read from DRAM", "byte"),
    Shown("dram__bytes_write.sum", "bytes written to DRAM", "byte"),
    Shown("lts__t_sectors.sum", "L2 sectors", "sector"),
    Shown("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sectors of global loads", "sector"),
    Shown("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "sectors of global stores", "sector"),
    Shown("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "requests of global loads", "request"),
    Shown(
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum + l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        "shared wavefronts",
        "wavefront",
    ),
    Shown("l1tex__t_sector_hit_rate.pct", "L1 hit rate", "%"),
    Shown("lts__t_sector_hit_rate.pct", "L2 hit rate", "%"),
    Shown("smsp__inst_executed.sum", "instructions", "inst"),
    Shown("smsp__issue_active.avg.per_cycle_active", "instructions issued per cycle and scheduler", "inst/cycle"),
    Shown(WARP_CYCLES, "warp cycles per issued instruction", "cycle"),
    Shown("smsp__warps_eligible.avg.per_cycle_active", "eligible warps per scheduler", "warp"),
    Shown("sm__maximum_warps_per_active_cycle_pct", "theoretical occupancy", "%"),
    Shown("sm__warps_active.avg.pct_of_peak_sustained_active", "achieved occupancy", "%"),
    Shown("launch__registers_per_thread", "registers", "register/thread"),
    Shown("launch__shared_mem_per_block_static + launch__shared_mem_per_block_dynamic", "shared memory of a block", "byte"),
    Shown("launch__waves_per_multiprocessor", "waves", "wave"),
    Shown("smsp__thread_inst_executed_per_inst_executed.ratio", "threads active per instruction", "thread/inst"),
    Shown(f"sm__pipe_fma_cycles_active{_ELAPSED}", "FMA pipe busy", "%"),
    Shown(f"sm__pipe_alu_cycles_active{_ELAPSED}", "ALU pipe busy", "%"),
    Shown(f"sm__pipe_tensor_cycles_active{_ELAPSED}", "tensor pipe busy", "%"),
    *(Shown(stall_metric(reason), f"stall: {words}", STALL_UNIT) for reason, words in STALLS.items() if reason != "selected"),
)
"""What an expert looks at beyond the guides' own metrics."""


def _busy(unit: str, share: str, cycles: str = "gpc__cycles_elapsed.max") -> Shown:
    return Shown(f"{share} * {cycles} / 100", f"cycles in which the {unit} works", "cycle")


LIMIT_WORK = {
    "dram-bandwidth": Shown("first(dram__bytes.sum, dram__bytes_read.sum + dram__bytes_write.sum)", "bytes moved by DRAM", "byte"),
    "l2-bandwidth": Shown("lts__t_sectors.sum", "L2 sectors", "sector"),
    "l1-throughput": _busy("L1/TEX", "l1tex__throughput.avg.pct_of_peak_sustained_active", "sm__cycles_active.avg"),
    "compute-bound-fma": _busy("FMA pipe", f"sm__pipe_fma_cycles_active{_ELAPSED}"),
    "compute-bound-alu": _busy("ALU pipe", f"sm__pipe_alu_cycles_active{_ELAPSED}"),
    "sfu-bound": _busy("XU pipe", f"sm__inst_executed_pipe_xu{_ELAPSED}"),
    "fp64-bound": _busy("FP64 pipe", f"sm__pipe_fp64_cycles_active{_ELAPSED}"),
    "tensor-bound": _busy("tensor pipe", f"first(sm__pipe_tensor_cycles_active{_ELAPSED}, sm__pipe_tc_cycles_active{_ELAPSED})"),
}
"""What a unit at its limit must be given less of: its throughput itself rises when a kernel gets better."""

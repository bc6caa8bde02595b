"""Metrics that an expert looks at beyond those that the guides name: for comparisons and pictures."""

from __future__ import annotations

from dataclasses import dataclass

from retriever.reports.names import ACTIVE, ELAPSED
from retriever.reports.stall_names import STALLS, WARP_CYCLES, stall_metric

STALL_UNIT = "cycle/inst"


@dataclass(frozen=True, slots=True)
class Shown:
    """A metric worth showing when it moves, though no guide of the two launches names it."""

    metric: str
    """Name or expression; the first that both reports have is shown of equal labels."""
    label: str
    unit: str


RELEVANT = (
    Shown(f"sm__throughput{ELAPSED}", "compute throughput", "%"),
    Shown(f"gpu__compute_memory_throughput{ELAPSED}", "memory throughput", "%"),
    Shown(f"gpu__dram_throughput{ELAPSED}", "DRAM throughput", "%"),
    Shown(f"lts__throughput{ELAPSED}", "L2 throughput", "%"),
    Shown(f"l1tex__throughput{ACTIVE}", "L1/TEX throughput", "%"),
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
    Shown(f"sm__warps_active{ACTIVE}", "achieved occupancy", "%"),
    Shown("launch__registers_per_thread", "registers", "register/thread"),
    Shown("launch__shared_mem_per_block_static + launch__shared_mem_per_block_dynamic", "shared memory of a block", "byte"),
    Shown("launch__waves_per_multiprocessor", "waves", "wave"),
    Shown("smsp__thread_inst_executed_per_inst_executed.ratio", "threads active per instruction", "thread/inst"),
    Shown(f"sm__pipe_fma_cycles_active{ELAPSED}", "FMA pipe busy", "%"),
    Shown(f"sm__pipe_alu_cycles_active{ELAPSED}", "ALU pipe busy", "%"),
    Shown(f"sm__pipe_tensor_cycles_active{ELAPSED}", "tensor pipe busy", "%"),
    *(Shown(stall_metric(reason), f"stall: {words}", STALL_UNIT) for reason, words in STALLS.items() if reason != "selected"),
)
"""What an expert looks at beyond the guides' own metrics."""


def _busy(unit: str, share: str, cycles: str = "gpc__cycles_elapsed.max") -> Shown:
    return Shown(f"{share} * {cycles} / 100", f"cycles in which the {unit} works", "cycle")


LIMIT_WORK = {
    "dram-bandwidth": Shown("first(dram__bytes.sum, dram__bytes_read.sum + dram__bytes_write.sum)", "bytes moved by DRAM", "byte"),
    "l2-bandwidth": Shown("lts__t_sectors.sum", "L2 sectors", "sector"),
    "l1-throughput": _busy("L1/TEX", f"l1tex__throughput{ACTIVE}", "sm__cycles_active.avg"),
    "compute-bound-fma": _busy("FMA pipe", f"sm__pipe_fma_cycles_active{ELAPSED}"),
    "compute-bound-alu": _busy("ALU pipe", f"sm__pipe_alu_cycles_active{ELAPSED}"),
    "sfu-bound": _busy("XU pipe", f"sm__inst_executed_pipe_xu{ELAPSED}"),
    "fp64-bound": _busy("FP64 pipe", f"sm__pipe_fp64_cycles_active{ELAPSED}"),
    "tensor-bound": _busy("tensor pipe", f"first(sm__pipe_tensor_cycles_active{ELAPSED}, sm__pipe_tc_cycles_active{ELAPSED})"),
}
"""What a unit at its limit must be given less of: its throughput itself rises when a kernel gets better."""

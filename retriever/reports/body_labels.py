"""Labels that only `--print-details all` prints: charts, breakdowns and tables inside a section, and the sections' hidden rows.

Which metric a label means was found by comparing that page with the raw page of the same 138 launches (Nsight Compute 2025.3.1, H200).
"""

from __future__ import annotations

import re

from retriever.reports.stall_names import SAMPLED_REASONS, SAMPLES, SHORT, sampled_metric, stall_metric

EACH = ".*"
"""Ends the name of a metric whose four rollups a table prints one below the other under one label, in the order of ROLLUPS."""
ROLLUPS = ("avg", "max", "min", "sum")

_ELAPSED = ".avg.pct_of_peak_sustained_elapsed"

_UNITS = {"SM": "sm", "L1": "l1tex", "L2": "lts", "DRAM": "dram", "GPU": "gpu", "IDC": "idc", "FBPA": "fbpa"}
_BREAKDOWN = re.compile(rf"({'|'.join(_UNITS)}): ([A-Z][A-Za-z0-9 ]*)")
_OTHER_UNIT = {"DRAM: Dram Sectors": "fbpa__dram_sectors"}
"""The one label of a breakdown whose unit is not that of its metric."""

_STALL = re.compile(r"Stall ([A-Z][A-Za-z ]*)")

_PIPES = {
    "elapsed": "Pipe Utilization (% of elapsed cycles)",
    "active": "Pipe Utilization (% of active cycles)",
}
_PIPES_BY_INSTRUCTIONS = {
    "elapsed": "Pipe Utilization (% of peak instructions executed over elapsed cycles)",
    "active": "Pipe Utilization (% of peak instructions executed over active cycles)",
}
_BY_CYCLES = {
    "ALU": "pipe_alu_cycles_active",
    "FMA": "pipe_fma_cycles_active",
    "FP64": "pipe_fp64_cycles_active",
    "Shared (FP64+Tensor)": "pipe_shared_cycles_active",
    "Tensor (All)": "pipe_tensor_cycles_active",
    "Tensor (DP)": "pipe_tensor_op_dmma_cycles_active",
    "Tensor (FP)": "pipe_tensor_op_hmma_cycles_active",
    "Tensor (INT)": "pipe_tensor_op_imma_cycles_active",
    "TMA": "pipe_tma_cycles_active",
}
_BY_INSTRUCTIONS = {
    **{name: f"inst_executed_pipe_{name.lower()}" for name in ("ALU", "LSU", "FMA", "ADU", "CBU", "FP64", "TEX", "TMA", "Uniform", "XU")},
    "FMA (FP16)": "inst_executed_pipe_fma_type_fp16",
    "FP16": "inst_executed_pipe_fp16",
    "Tensor (DP)": "inst_executed_pipe_tensor_op_dmma",
    "Tensor (FP)": "inst_executed_pipe_tensor_op_hmma",
    "Tensor (INT)": "inst_executed_pipe_tensor_op_imma",
    "Tensor (Warp Group)": "inst_executed_pipe_tensor_op_gmma",
}

_IN_BODY = {
    **{
        (_PIPES[cycles], label): f"sm__{name}.avg.pct_of_peak_sustained_{cycles}" for cycles in _PIPES for label, name in _BY_CYCLES.items()
    },
    **{
        (_PIPES_BY_INSTRUCTIONS[cycles], label): f"sm__{name}.avg.pct_of_peak_sustained_{cycles}"
        for cycles in _PIPES
        for label, name in _BY_INSTRUCTIONS.items()
    },
    **{
        ("Workload Distribution", f"{label} Active Cycles"): f"{unit}__cycles_active{EACH}"
        for label, unit in (("SM", "sm"), ("SMSP", "smsp"), ("L1", "l1tex"), ("L2", "lts"), ("DRAM", "dram"))
    },
}
"""By the title of the table and the label."""

_HIDDEN: dict[tuple[str, str], str] = {
    ("SpeedOfLight", "Waves Per SM"): "launch__waves_per_multiprocessor",
    ("ComputeWorkloadAnalysis", "Max. Issued Slots Busy"): "sm__inst_issued.max.pct_of_peak_sustained_elapsed",
    ("MemoryWorkloadAnalysis", "Instructions Executed"): "inst_executed",
    ("MemoryWorkloadAnalysis_Chart", "DRAM Bandwidth"): "dram__bytes.sum.per_second",
    ("MemoryWorkloadAnalysis_Chart", "L2 Cache Sectors"): "lts__t_sectors.sum",
    ("MemoryWorkloadAnalysis_Chart", "L2 Cache Sector Throughput For TEX"): f"lts__t_sectors_srcunit_tex{_ELAPSED}",
    (
        "MemoryWorkloadAnalysis_Chart",
        "Missed L2 Cache Sectors For TEX Accessing Peer Memory",
    ): "lts__t_sectors_srcunit_tex_aperture_peer_lookup_miss.sum",
    (
        "MemoryWorkloadAnalysis_Chart",
        "Missed L2 Cache Sectors For TEX Accessing System Memory",
    ): "lts__t_sectors_srcunit_tex_aperture_sysmem_lookup_miss.sum",
    ("MemoryWorkloadAnalysis_Chart", "Missed L2 Cache Sectors For TEX"): "lts__t_sectors_srcunit_tex_lookup_miss.sum",
    ("MemoryWorkloadAnalysis_Chart", "PCIe read bandwidth"): "pcie__read_bytes.sum.per_second",
    ("MemoryWorkloadAnalysis_Chart", "PCIe write bandwidth"): "pcie__write_bytes.sum.per_second",
    ("MemoryWorkloadAnalysis_Tables", "DRAM Throughput"): f"gpu__dram_throughput{_ELAPSED}",
    ("MemoryWorkloadAnalysis_Tables", "L1TEX Throughput"): f"l1tex__throughput{_ELAPSED}",
    ("MemoryWorkloadAnalysis_Tables", "L2 Throughput"): f"lts__throughput{_ELAPSED}",
    ("MemoryWorkloadAnalysis_Tables", "L2 Hit Rate For Loads"): "lts__t_sector_op_read_hit_rate.pct",
    ("MemoryWorkloadAnalysis_Tables", "L2 Hit Rate For Stores"): "lts__t_sector_op_write_hit_rate.pct",
    **{
        (
            "MemoryWorkloadAnalysis_Tables",
            f"L1TEX Hit Rate For {space} {word}",
        ): f"l1tex__t_sector_pipe_lsu_mem_{space.lower()}_op_{op}_hit_rate.pct"
        for space in ("Global", "Local")
        for word, op in (("Loads", "ld"), ("Stores", "st"))
    },
    **{
        (
            "MemoryWorkloadAnalysis_Tables",
            f"{size} Bytes Per Sector For {space} {word}",
        ): f"smsp__sass_average_data_bytes_per_sector_mem_{space.lower()}_op_{op}.{rollup}"
        for size, rollup in (("Average", "ratio"), ("Maximum", "max_rate"))
        for space in ("Global", "Local")
        for word, op in (("Loads", "ld"), ("Stores", "st"))
    },
    ("SchedulerStats", "Theoretical Warps Per Scheduler"): "smsp__maximum_warps_avg_per_active_cycle",
    ("SchedulerStats", "GPU Maximum Warps Per Scheduler"): "smsp__warps_active.avg.peak_sustained",
    ("WarpStateStats", "Selected"): stall_metric("selected"),
    ("InstructionStats", "Instructions Executed"): "inst_executed",
    ("Occupancy", "Theoretical Warps Per Scheduler"): "smsp__maximum_warps_avg_per_active_cycle",
    ("Occupancy", "GPU Maximum Warps Per Scheduler"): "smsp__warps_active.avg.peak_sustained",
    ("Occupancy", "Shared Memory Per Block"): "launch__shared_mem_per_block",
    ("Occupancy", "Block Barrier Count"): "launch__barrier_count",
    ("SourceCounters", "Instructions Executed"): "inst_executed",
    ("SourceCounters", "Thread Instructions Executed"): "thread_inst_executed",
    ("SourceCounters", "Predicated-On Thread Instructions Executed"): "thread_inst_executed_true",
    ("SourceCounters", "Avg. Threads Executed"): "derived__avg_thread_executed",
    ("SourceCounters", "Avg. Predicated-On Threads Executed"): "derived__avg_thread_executed_true",
    ("SourceCounters", "Avg. Predicated-On Threads Unexecuted"): "derived__avg_thread_unexecuted_true",
    ("SourceCounters", "Derivative Avg. Predicated-On Threads Executed"): "derived__derivative_avg_thread_executed_true",
    ("SourceCounters", "L1 Conflicts Shared N-Way"): "derived__memory_l1_conflicts_shared_nway",
    ("SourceCounters", "L1 Wavefronts Shared Excessive"): "derived__memory_l1_wavefronts_shared_excessive",
    ("SourceCounters", "L2 Theoretical Sectors Global Excessive"): "derived__memory_l2_theoretical_sectors_global_excessive",
    **{
        ("SourceCounters", label): f"memory_{label.lower().replace(' ', '_')}"
        for label in (
            "L1 Tag Requests Global",
            "L1 Wavefronts Shared",
            "L1 Wavefronts Shared Ideal",
            "L2 Theoretical Sectors Global",
            "L2 Theoretical Sectors Global Ideal",
            "L2 Theoretical Sectors Local",
        )
    },
    ("SourceCounters", "Divergent Branches"): "smsp__sass_branch_targets_threads_divergent.sum",
    ("SourceCounters", "# Samples"): SAMPLES,
    **{
        ("SourceCounters", f"{label} {state} Cycles"): f"{unit}__cycles_{state.lower()}.sum"
        for label, unit in (("L1", "l1tex"), ("L2", "lts"))
        for state in ("Active", "Elapsed")
    },
    **{
        ("SourceCounters", f"stall_{label}{suffix}"): f"{sampled_metric(reason)}{ending}"
        for label, reason in (*((reason, reason) for reason in SAMPLED_REASONS), *SHORT.items())
        for suffix, ending in (("", ""), (" (Not Issued)", "_not_issued"))
    },
}
"""By section and label."""

_IN_ROOFLINES: dict[str, str] = {
    "SM Frequency": "sm__cycles_elapsed.avg.per_second",
    "L1/TEX Cache Frequency": "l1tex__cycles_elapsed.avg.per_second",
    "L2 Cache Frequency": "lts__cycles_elapsed.avg.per_second",
    "DRAM Frequency": "dram__cycles_elapsed.avg.per_second",
    "DRAM Bandwidth": "dram__bytes.sum.per_second",
    "L1/TEX active local/global writeback cycles per second": "l1tex__lsu_writeback_active_mem_lgds.sum.per_second",
    "L2 active writeback cycles per second": "lts__lts2xbar_cycles_active.sum.per_second",
    **{
        label: "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.per_second"
        for label in ("L1 Cache Bandwidth (Global/Local)", "L1/TEX Cache Bandwidth")
    },
    "L2 Cache Bandwidth": "derived__lts__lts2xbar_bytes.sum.per_second",
    **{
        f"Predicated-On {op.upper()} Thread Instructions Executed Per Cycle": (
            f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum.per_cycle_elapsed"
        )
        for op in (f"{width}{kind}" for width in "dfh" for kind in ("add", "mul", "fma"))
    },
    **{
        f"Predicated-On {op.upper()} Operations Per Cycle": f"derived__smsp__sass_thread_inst_executed_op_{op}_pred_on_x{times}"
        for op, times in (("dfma", 2), ("ffma", 2), ("hfma", 4))
    },
}


MISPRINTED = {
    "lts__average_gcomp_output_sector_compression_achieved_rate.ratio": "",
    "derived__memory_l2_theoretical_sectors_global_excessive": "sector",
    **{f"{sampled_metric('membar')}{ending}": "warp" for ending in ("", "_not_issued")},
    **{f"derived__smsp__sass_thread_inst_executed_op_{op}": "thread" for op in ("dfma_pred_on_x2", "ffma_pred_on_x2", "hfma_pred_on_x4")},
}
"""Metrics to which the details page gives another unit than the raw page does, and the raw page's."""


def hidden_name(section: str, body: str, label: str) -> str | None:
    """The metric of a row that only `--print-details all` shows; None for every other row.

    `section` is an identifier and `body` the title of the table, empty outside of one. A name that ends in EACH stands for the rollups
    in the order of ROLLUPS, a row each.
    """
    if known := _IN_BODY.get((body, label)) or _HIDDEN.get((section, label)):
        return known
    if section.startswith("SpeedOfLight_"):
        return _IN_ROOFLINES.get(label)
    if section == "SpeedOfLight" and (found := _BREAKDOWN.fullmatch(label)):
        return _OTHER_UNIT.get(label, f"{_UNITS[found[1]]}__{_words(found[2])}") + _ELAPSED
    if section == "WarpStateStats" and (found := _STALL.fullmatch(label)):
        return stall_metric(_words(found[1]))
    return None


def _words(label: str) -> str:
    return label.lower().replace(" ", "_")

"""Section names, display labels and old metric names to the metric names that guides use.

Labels and metrics come from the section files of Nsight Compute 2025; old labels from outputs of 2019 to 2022.
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import lru_cache

from retriever.reports.body_labels import hidden_name

ELAPSED = ".avg.pct_of_peak_sustained_elapsed"
ACTIVE = ".avg.pct_of_peak_sustained_active"

RAW_NAME = re.compile(r"(?<![A-Za-z0-9_])[a-z][a-z0-9]*__[A-Za-z0-9_]+(?:\.[a-z0-9_]+)*")
"""A metric as the raw page writes it: `unit__quantity.rollup`."""

_VERBATIM = re.compile(r"[A-Za-z]\w*(?:[:.]\w+)*")
"""A name without a blank: also `memory_l2_theoretical_sectors_global`, `group:smsp__pcsamp_warp_stall_reasons` and
`breakdown:...`, whose prefix is part of the name: a breakdown is not the metric that it breaks down."""

_HIERARCHICAL = re.compile(r"GPU Speed Of Light Hierarchical Roofline Chart(?: \((Double|Half|Single|Tensor)\b)?")

_IN_BRACKETS = re.compile(r"\((\w+_\w+(?:\.\w+)*)\)$")
"""The name that `--print-metric-name label-name` prints behind a label."""

SECTION_IDS = {
    "GPU Speed Of Light": "SpeedOfLight",
    "GPU Speed Of Light Throughput": "SpeedOfLight",
    "GPU Speed Of Light Roofline Chart": "SpeedOfLight_RooflineChart",
    "Roofline Chart (Overview)": "SpeedOfLight_RooflineChart",
    "PM Sampling": "PmSampling",
    "PM Sampling: Warp States": "PmSampling_WarpStates",
    "Compute Workload Analysis": "ComputeWorkloadAnalysis",
    "Memory Workload Analysis": "MemoryWorkloadAnalysis",
    "Memory Workload Analysis Chart": "MemoryWorkloadAnalysis_Chart",
    "Memory Workload Analysis Tables": "MemoryWorkloadAnalysis_Tables",
    "Scheduler Statistics": "SchedulerStats",
    "Warp State Statistics": "WarpStateStats",
    "Instruction Statistics": "InstructionStats",
    "Launch Statistics": "LaunchStats",
    "Occupancy": "Occupancy",
    "Source Counters": "SourceCounters",
    "GPU and Memory Workload Distribution": "WorkloadDistribution",
    "NVLink": "Nvlink",
    "NVLink Topology": "Nvlink_Topology",
    "NVLink Tables": "Nvlink_Tables",
    "NUMA Affinity": "NumaAffinity",
}
"""Display name to identifier; rule rows of a CSV carry the identifier already."""

LABELS: dict[tuple[str, str], str] = {
    ("SpeedOfLight", "Compute (SM) Throughput"): f"sm__throughput{ELAPSED}",
    ("SpeedOfLight", "Compute (SM) [%]"): f"sm__throughput{ELAPSED}",
    ("SpeedOfLight", "SM [%]"): f"sm__throughput{ELAPSED}",
    ("SpeedOfLight", "SOL SM"): f"sm__throughput{ELAPSED}",
    ("SpeedOfLight", "Memory Throughput"): f"gpu__compute_memory_throughput{ELAPSED}",
    ("SpeedOfLight", "Memory [%]"): f"gpu__compute_memory_throughput{ELAPSED}",
    ("SpeedOfLight", "L1/TEX Cache Throughput"): f"l1tex__throughput{ACTIVE}",
    ("SpeedOfLight", "SOL L1/TEX Cache"): f"l1tex__throughput{ACTIVE}",
    ("SpeedOfLight", "SOL TEX"): f"l1tex__throughput{ACTIVE}",
    ("SpeedOfLight", "L2 Cache Throughput"): f"lts__throughput{ELAPSED}",
    ("SpeedOfLight", "SOL L2 Cache"): f"lts__throughput{ELAPSED}",
    ("SpeedOfLight", "SOL L2"): f"lts__throughput{ELAPSED}",
    ("SpeedOfLight", "DRAM Throughput"): f"gpu__dram_throughput{ELAPSED}",
    ("SpeedOfLight", "SOL DRAM"): f"gpu__dram_throughput{ELAPSED}",
    ("SpeedOfLight", "SOL FB"): f"gpu__dram_throughput{ELAPSED}",
    ("SpeedOfLight", "Duration"): "gpu__time_duration.sum",
    ("SpeedOfLight", "Elapsed Cycles"): "gpc__cycles_elapsed.max",
    ("SpeedOfLight", "SM Active Cycles"): "sm__cycles_active.avg",
    ("SpeedOfLight", "SM Frequency"): "gpc__cycles_elapsed.avg.per_second",
    ("SpeedOfLight", "DRAM Frequency"): "dram__cycles_elapsed.avg.per_second",
    ("SpeedOfLight", "Memory Frequency"): "dram__cycles_elapsed.avg.per_second",
    ("ComputeWorkloadAnalysis", "SM Busy"): f"sm__instruction_throughput{ELAPSED}",
    ("ComputeWorkloadAnalysis", "Issue Slots Busy"): f"sm__inst_issued{ELAPSED}",
    ("ComputeWorkloadAnalysis", "Executed Ipc Active"): "sm__inst_executed.avg.per_cycle_active",
    ("ComputeWorkloadAnalysis", "Executed Ipc Elapsed"): "sm__inst_executed.avg.per_cycle_elapsed",
    ("ComputeWorkloadAnalysis", "Issued Ipc Active"): "sm__inst_issued.avg.per_cycle_active",
    ("MemoryWorkloadAnalysis", "Memory Throughput"): "dram__bytes.sum.per_second",
    ("MemoryWorkloadAnalysis", "Mem Busy"): f"gpu__compute_memory_access_throughput{ELAPSED}",
    ("MemoryWorkloadAnalysis", "Max Bandwidth"): f"gpu__compute_memory_request_throughput{ELAPSED}",
    ("MemoryWorkloadAnalysis", "Mem Pipes Busy"): f"sm__memory_throughput{ELAPSED}",
    ("MemoryWorkloadAnalysis", "L1/TEX Hit Rate"): "l1tex__t_sector_hit_rate.pct",
    ("MemoryWorkloadAnalysis", "L1 Hit Rate"): "l1tex__t_sector_hit_rate.pct",
    ("MemoryWorkloadAnalysis", "L2 Hit Rate"): "lts__t_sector_hit_rate.pct",
    ("MemoryWorkloadAnalysis", "Local Memory Spilling Requests"): "derived__local_spilling_requests",
    ("MemoryWorkloadAnalysis", "Local Memory Spilling Request Overhead"): "derived__local_spilling_requests_pct",
    ("MemoryWorkloadAnalysis", "L2 Persisting Size"): "launch__persisting_l2_cache_size",
    ("MemoryWorkloadAnalysis", "L2 Compression Success Rate"): "lts__average_gcomp_input_sector_success_rate.pct",
    ("MemoryWorkloadAnalysis", "L2 Compression Ratio"): "lts__average_gcomp_output_sector_compression_achieved_rate.ratio",
    ("MemoryWorkloadAnalysis", "L2 Compression Input Sectors"): "lrc__ilc_input_sectors.sum",
    ("PmSampling", "Maximum Buffer Size"): "profiler__pmsampler_buffer_size_bytes",
    ("PmSampling", "Maximum Sampling Interval"): "profiler__pmsampler_interval_time",
    ("PmSampling", "# Pass Groups"): "profiler__pmsampler_pass_groups",
    ("SchedulerStats", "Active Warps Per Scheduler"): "smsp__warps_active.avg.per_cycle_active",
    ("SchedulerStats", "Eligible Warps Per Scheduler"): "smsp__warps_eligible.avg.per_cycle_active",
    ("SchedulerStats", "Issued Warp Per Scheduler"): "smsp__issue_active.avg.per_cycle_active",
    ("SchedulerStats", "No Eligible"): f"smsp__issue_inst0{ACTIVE}",
    ("SchedulerStats", "One or More Eligible"): f"smsp__issue_active{ACTIVE}",
    ("WarpStateStats", "Warp Cycles Per Issued Instruction"): "smsp__average_warp_latency_per_inst_issued.ratio",
    ("WarpStateStats", "Warp Cycles Per Executed Instruction"): "smsp__average_warps_active_per_inst_executed.ratio",
    ("WarpStateStats", "Avg. Active Threads Per Warp"): "smsp__thread_inst_executed_per_inst_executed.ratio",
    ("WarpStateStats", "Avg. Not Predicated Off Threads Per Warp"): "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
    ("InstructionStats", "Executed Instructions"): "smsp__inst_executed.sum",
    ("InstructionStats", "Issued Instructions"): "smsp__inst_issued.sum",
    ("InstructionStats", "Avg. Executed Instructions Per Scheduler"): "smsp__inst_executed.avg",
    ("InstructionStats", "Avg. Issued Instructions Per Scheduler"): "smsp__inst_issued.avg",
    ("LaunchStats", "Grid Size"): "launch__grid_size",
    ("LaunchStats", "Block Size"): "launch__block_size",
    ("LaunchStats", "Threads"): "launch__thread_count",
    ("LaunchStats", "Registers Per Thread"): "launch__registers_per_thread",
    ("LaunchStats", "Waves Per SM"): "launch__waves_per_multiprocessor",
    ("LaunchStats", "Cluster Size"): "launch__cluster_size",
    ("LaunchStats", "Cluster Scheduling Policy"): "launch__cluster_scheduling_policy",
    ("LaunchStats", "# SMs"): "launch__sm_count",
    ("LaunchStats", "# TPCs"): "launch__tpc_count",
    ("LaunchStats", "Enabled TPC IDs"): "launch__tpc_enabled",
    ("LaunchStats", "Stack Size"): "launch__stack_size",
    ("LaunchStats", "Uses Green Context"): "launch__uses_green_context",
    ("LaunchStats", "Function Cache Configuration"): "launch__func_cache_config",
    ("LaunchStats", "Shared Memory Configuration Size"): "launch__shared_mem_config_size",
    ("LaunchStats", "Static Shared Memory Per Block"): "launch__shared_mem_per_block_static",
    ("LaunchStats", "Dynamic Shared Memory Per Block"): "launch__shared_mem_per_block_dynamic",
    ("LaunchStats", "Driver Shared Memory Per Block"): "launch__shared_mem_per_block_driver",
    ("Occupancy", "Theoretical Occupancy"): "sm__maximum_warps_per_active_cycle_pct",
    ("Occupancy", "Theoretical Active Warps per SM"): "sm__maximum_warps_avg_per_active_cycle",
    ("Occupancy", "Achieved Occupancy"): f"sm__warps_active{ACTIVE}",
    ("Occupancy", "Achieved Active Warps Per SM"): "sm__warps_active.avg.per_cycle_active",
    ("Occupancy", "Block Limit SM"): "launch__occupancy_limit_blocks",
    ("Occupancy", "Block Limit Registers"): "launch__occupancy_limit_registers",
    ("Occupancy", "Block Limit Shared Mem"): "launch__occupancy_limit_shared_mem",
    ("Occupancy", "Block Limit Warps"): "launch__occupancy_limit_warps",
    ("Occupancy", "Block Limit Barriers"): "launch__occupancy_limit_barriers",
    ("Occupancy", "Max Active Clusters"): "launch__cluster_max_active",
    ("Occupancy", "Max Cluster Size"): "launch__cluster_max_potential_size",
    ("Occupancy", "Overall GPU Occupancy"): "launch__occupancy_cluster_gpu_pct",
    ("Occupancy", "Cluster Occupancy"): "launch__occupancy_cluster_pct",
    ("SourceCounters", "Branch Instructions"): "smsp__inst_executed_op_branch.sum",
    ("SourceCounters", "Branch Instructions Ratio"): "derived__smsp__inst_executed_op_branch_pct",
    ("SourceCounters", "Branch Efficiency"): "smsp__sass_average_branch_targets_threads_uniform.pct",
    ("SourceCounters", "Avg. Divergent Branches"): "smsp__sass_branch_targets_threads_divergent.avg",
    **{
        ("WorkloadDistribution", f"{word} {label} {state} Cycles"): f"{unit}__cycles_{state.lower()}.{rollup}"
        for label, unit in (("SM", "sm"), ("SMSP", "smsp"), ("L1", "l1tex"), ("L2", "lts"), ("DRAM", "dram"))
        for word, state, rollup in (("Average", "Active", "avg"), ("Total", "Elapsed", "sum"))
    },
}
"""(section identifier, display label) to metric."""

EARLIER_MEANINGS = {
    ("ComputeWorkloadAnalysis", "SM Busy"): f"sm__instruction_throughput{ACTIVE}",
    ("ComputeWorkloadAnalysis", "Issue Slots Busy"): f"sm__inst_issued{ACTIVE}",
}
"""Labels that meant another metric in reports with the old kernel line (up to about 2022.1)."""

TELLTALES = {
    "SpeedOfLight": f"sm__throughput{ELAPSED}",
    "ComputeWorkloadAnalysis": "sm__inst_executed.avg.per_cycle_active",
    "MemoryWorkloadAnalysis": f"gpu__compute_memory_request_throughput{ELAPSED}",
    "MemoryWorkloadAnalysis_Tables": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "SchedulerStats": "smsp__warps_eligible.avg.per_cycle_active",
    "WarpStateStats": "smsp__average_warp_latency_per_inst_issued.ratio",
    "InstructionStats": "smsp__inst_issued.sum",
    "LaunchStats": "launch__waves_per_multiprocessor",
    "Occupancy": "sm__maximum_warps_per_active_cycle_pct",
    "SourceCounters": "smsp__sass_average_branch_targets_threads_uniform.pct",
    "WorkloadDistribution": "lts__cycles_active.avg",
}
"""For each section a metric that shows it was collected; the raw page does not name its sections."""

_RENAMES = (
    (re.compile(r"dram__throughput\.(?=avg\.pct)"), "gpu__dram_throughput."),
    (re.compile(r"dram__(bytes|sectors)_op_(?=read|write)"), r"dram__\1_"),
    (re.compile(r"smsp__sass_inst_executed_op_(?=(?:local|global|shared)(?:_(?:ld|st))?\.)"), "smsp__inst_executed_op_"),
    (re.compile(r"syslts__(?=t_sectors_srcunit_tex)"), "lts__"),
    (re.compile(r"sm__(pipe_tensor(?:_op_[a-z]+)?_cycles_active)_v2(?=\.)"), r"sm__\1"),
    (re.compile(r"sm__pipe_tensor_subpipe_(?=(?:hmma|imma|dmma)_cycles_active)"), "sm__pipe_tensor_op_"),
    (re.compile(r"sm__inst_executed_pipe_fma_type_fp16(?=\.)"), "sm__inst_executed_pipe_fp16"),
)
"""Names that versions or compute capabilities write differently for the same count, and the name guides use: `dram__throughput`
in old scripts, `dram__bytes_op_read` on CC 12.0, `smsp__sass_inst_executed_op_*` on CC 7.5 and 12.0, `syslts__` from CC 10.0, tensor
pipes with `_v2` on CC 8.9 and as subpipes from CC 10.0, FP16 as a type of the FMA pipe from CC 8.6. Shares of stalls among active warps
(`smsp__warp_issue_stalled_*_per_warp_active.pct`) have another base than cycles per issued instruction and stay what they are; so do
`sm__pipe_tc_*`, the tensor cores of CC 10.0 and 11.0 beside the older pipe."""

_IDENTIFIERS = frozenset(SECTION_IDS.values())

_BY_LABEL: dict[str, set[str]] = {}
for (_section, _label), _metric in LABELS.items():
    _BY_LABEL.setdefault(_label.lower(), set()).add(_metric)

_BY_SECTION = {(section, label.lower()): metric for (section, label), metric in LABELS.items()}


def section_id(name: str) -> str:
    """The identifier of a section given by display name or identifier; the name itself when it is not known."""
    if chart := _HIERARCHICAL.match(name):
        return f"SpeedOfLight_Hierarchical{chart[1] or ''}RooflineChart"
    return SECTION_IDS.get(name, name)


def is_section(name: str) -> bool:
    """Whether `name` is a section's display name or identifier, or stands for the metrics of `--metrics`."""
    return name in SECTION_IDS or name in _IDENTIFIERS or _HIERARCHICAL.match(name) is not None or name.startswith("Command line profiler")


def sections_shown(names: Container[str]) -> tuple[str, ...]:
    """The sections whose metrics are among `names`."""
    return tuple(section for section, metric in TELLTALES.items() if metric in names)


@lru_cache(maxsize=8192)
def metric_name(section: str, label: str, base_unit: str, earlier: bool = False, body: str = "") -> str:
    """The metric behind a row: a raw name as it stands, else by section and label, else `section/label`.

    `section` is an identifier, `body` the title of the table inside it, where there is one. `Memory Throughput` outside its sections is
    told apart by `base_unit`; `earlier` is True for reports with the old kernel line.
    """
    if hidden := hidden_name(section, body, label):
        return hidden
    if "_" in label and _VERBATIM.fullmatch(label):
        return label
    raw = RAW_NAME.search(label)
    if raw:
        return raw[0]
    if named := _IN_BRACKETS.search(label):
        return named[1]
    if earlier and (section, label) in EARLIER_MEANINGS:
        return EARLIER_MEANINGS[section, label]
    key = label.lower()
    if key == "memory throughput" and section in ("", "SpeedOfLight", "MemoryWorkloadAnalysis"):
        return LABELS["MemoryWorkloadAnalysis" if base_unit == "byte/s" else "SpeedOfLight", "Memory Throughput"]
    known = _BY_SECTION.get((section, key))
    if known:
        return known
    anywhere = _BY_LABEL.get(key, set())
    return next(iter(anywhere)) if len(anywhere) == 1 else f"{section}/{label}"


def names_for(name: str, present: Container[str] = ()) -> tuple[str, ...]:
    """`name`, and the name that guides use for the same count unless the report has that one too (`present`)."""
    renamed = _renamed(name)
    return (name, renamed) if renamed and renamed not in present else (name,)


@lru_cache(maxsize=8192)
def _renamed(name: str) -> str | None:
    return next((pattern.sub(new, name, count=1) for pattern, new in _RENAMES if pattern.match(name)), None)

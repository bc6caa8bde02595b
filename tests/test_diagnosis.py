"""Guides executed on made-up profiles: each fires where it should, stays quiet where another explanation holds, and says what it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.corpus import load_corpus
from indexer.errors import InputError
from indexer.gpus import load_gpus, resolve_gpu
from indexer.records import GuideRecord
from retriever.diagnosis import Diagnosis, diagnose
from retriever.guide_problems import expression_problems
from retriever.labels import load_labels
from retriever.metric_expressions import evaluate, metric_names, parse_expression
from retriever.render import busiest_text
from retriever.reports.profile import Metric, Profile, RuleMessage

ROOT = Path(__file__).parent.parent
SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
DRAM = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
L2 = "lts__throughput.avg.pct_of_peak_sustained_elapsed"
L1 = "l1tex__throughput.avg.pct_of_peak_sustained_active"
L2_HITS = "lts__t_sector_op_read_hit_rate.pct"
ISSUE = "smsp__issue_active.avg.per_cycle_active"
LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
OCCUPANCY = "sm__maximum_warps_per_active_cycle_pct"
WAVES = "launch__waves_per_multiprocessor"
TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
RED = "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"


def stall(reason: str) -> str:
    return f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"


BASIC = {
    SM: 50, MEMORY: 55, DRAM: 50, L2: 45, L1: 40, "sm__cycles_active.avg": 95, "gpc__cycles_elapsed.max": 100,
    "gpu__time_duration.sum": 100_000, "launch__grid_size": 10_560, "launch__sm_count": 132, WAVES: 10, OCCUPANCY: 100,
    "launch__occupancy_limit_registers": 8, "launch__occupancy_limit_shared_mem": 8, "launch__occupancy_limit_warps": 8,
    "launch__occupancy_limit_blocks": 32,
}  # fmt: skip
"""What the details page of a `--set basic` report holds, on a kernel that has nothing wrong."""

HEALTHY = BASIC | {
    "sm__cycles_active.max": 96, ISSUE: 0.9, LATENCY: 10,
    stall("long_scoreboard"): 1, stall("short_scoreboard"): 1, stall("barrier"): 1, stall("no_instruction"): 1,
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed": 30, "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed": 20,
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed": 5, "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed": 0,
    TENSOR: 0, "memory_l2_theoretical_sectors_global": 400, "memory_l2_theoretical_sectors_global_ideal": 400,
    "memory_l1_wavefronts_shared": 0, "memory_l1_wavefronts_shared_ideal": 0, L2_HITS: 50,
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": 0, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 0,
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": 0, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": 0,
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 400, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 100,
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 400, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": 100,
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum": 0, RED: 0,
    "derived__local_spilling_requests_pct": 0, "smsp__inst_executed.sum": 10_000,
    "smsp__inst_executed_op_local_ld.sum": 0, "smsp__inst_executed_op_local_st.sum": 0,
    "smsp__thread_inst_executed_per_inst_executed.ratio": 32, "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio": 31,
    "sm__inst_issued.avg.pct_of_peak_sustained_elapsed": 60, "smsp__inst_executed_op_shared_atom.sum": 0,
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum": 0,
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum.pct_of_peak_sustained_elapsed": 0,
    "lts__t_sectors_srcunit_tex_aperture_sysmem_lookup_miss.sum": 0, "lts__t_sectors_srcunit_tex_aperture_sysmem_op_write.sum": 0,
    "dram__bytes_read.sum": 10_000, "l1tex__m_xbar2l1tex_read_bytes.sum": 12_000, "l1tex__m_l1tex2xbar_write_bytes.sum": 3_000,
    "sm__pipe_tma_cycles_active.avg.pct_of_peak_sustained_elapsed": 0, "smsp__inst_executed_op_tma_ld.sum": 0,
    "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum": 0, "device__attribute_compute_capability_major": 9,
    "gpc__cycles_elapsed.avg.per_second": 1.98e9, "device__attribute_max_gpu_frequency_khz": 1_980_000,
    "dram__cycles_elapsed.avg.per_second": 3.2e9, "device__attribute_max_mem_frequency_khz": 3_201_000,
}  # fmt: skip
"""A full report of the same kernel."""

FIRES = {
    "dram-bandwidth": {DRAM: 90, MEMORY: 90},
    "l2-bandwidth": {L2: 85, MEMORY: 85},
    "l1-throughput": {L1: 90},
    "uncoalesced-access": {"memory_l2_theoretical_sectors_global": 3200},
    "shared-bank-conflict": {"memory_l1_wavefronts_shared": 3200, "memory_l1_wavefronts_shared_ideal": 100},
    "latency-long-scoreboard": {ISSUE: 0.2, LATENCY: 40, stall("long_scoreboard"): 30},
    "latency-short-scoreboard": {ISSUE: 0.2, LATENCY: 40, stall("short_scoreboard"): 30},
    "barrier-stall": {ISSUE: 0.2, LATENCY: 40, stall("barrier"): 30},
    "instruction-cache": {ISSUE: 0.2, LATENCY: 40, stall("no_instruction"): 30},
    "compute-bound-fma": {SM: 78, "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed": 78},
    "compute-bound-alu": {SM: 78, "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed": 78},
    "sfu-bound": {SM: 78, "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed": 78},
    "fp64-bound": {SM: 78, "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed": 78},
    "tensor-bound": {SM: 75, TENSOR: 75},
    "tensor-underused": {TENSOR: 12},
    "low-occupancy-registers": {OCCUPANCY: 25, "launch__occupancy_limit_registers": 2, ISSUE: 0.4},
    "low-occupancy-shared": {OCCUPANCY: 25, "launch__occupancy_limit_shared_mem": 2, ISSUE: 0.4},
    "low-occupancy-blocksize": {OCCUPANCY: 50, "launch__occupancy_limit_blocks": 7, ISSUE: 0.4},
    "small-grid": {"launch__grid_size": 16, WAVES: 0.02},
    "tail-effect": {WAVES: 1.125, "launch__grid_size": 297, "sm__cycles_active.avg": 60},
    "register-spill": {
        "derived__local_spilling_requests_pct": 40,
        "smsp__inst_executed_op_local_ld.sum": 900,
        "smsp__inst_executed_op_local_st.sum": 900,
    },
    "atomics-contention": {RED: 100},
    "warp-divergence": {"smsp__thread_inst_executed_per_inst_executed.ratio": 3},
    "launch-overhead": {"gpu__time_duration.sum": 2_000},
    "well-optimized": {MEMORY: 88, DRAM: 88},
}


@pytest.fixture(scope="module")
def guides() -> list[GuideRecord]:
    return [record for record in load_corpus(ROOT).records.values() if isinstance(record, GuideRecord)]


def profile(metrics: dict[str, float], **fields) -> Profile:
    return Profile(kernel="k", metrics={name: Metric(value, "", "1:1") for name, value in metrics.items()}, **fields)


def named(diagnosis: Diagnosis) -> list[str]:
    return [bottleneck.id for bottleneck in diagnosis.bottlenecks]


def undecided(diagnosis: Diagnosis) -> dict[str, tuple[str, ...]]:
    return {item.bottleneck: item.metrics for item in diagnosis.missing}


def guide(id: str = "guide/made-up", **fields) -> GuideRecord:
    base = {"title": "t", "summary": "s", "sources": [{"title": "x"}], "reviewed": "2026-11-29", "bottlenecks": [id.split("/")[1]]}
    base |= {"bound": "b"} if "severity" in fields else {}
    record = GuideRecord.model_validate(base | {"sections": ["SpeedOfLight"]} | fields)
    record._id = id
    return record


def condition(metric: str, op: str, value: float) -> dict:
    return {"metric": metric, "op": op, "value": value, "unit": "%", "source": "test"}


def test_every_bottleneck_of_the_vocabulary_has_a_guide(guides):
    bottlenecks = set(load_corpus(ROOT).vocabulary.ids("bottlenecks"))
    assert {record.bottlenecks for record in guides} == {(id,) for id in bottlenecks}


def test_every_guide_can_be_executed(guides):
    assert {record.id: expression_problems(record) for record in guides} == {record.id: [] for record in guides}


def test_a_healthy_full_report_names_nothing_and_leaves_nothing_open(guides):
    diagnosis = diagnose(profile(HEALTHY), guides)
    assert (named(diagnosis), undecided(diagnosis), diagnosis.collect_next) == ([], {}, "")


@pytest.mark.parametrize("id", FIRES)
def test_a_guide_fires_on_the_profile_it_describes(id, guides):
    diagnosis = diagnose(profile(HEALTHY | FIRES[id]), guides)
    found = {bottleneck.id: bottleneck for bottleneck in diagnosis.bottlenecks}
    assert id in found
    assert 0 < found[id].severity <= 100
    assert found[id].guide == f"guide/{id}"
    assert found[id].evidence and all(piece.source for piece in found[id].evidence)
    assert set(found) - {id} <= {"well-optimized", "dram-bandwidth"}


def test_every_guide_with_a_signature_is_among_the_made_up_profiles_or_the_labelled_kernels(guides):
    planted = {label.planted[0] for label in load_labels(ROOT).values() if label.planted}
    assert {record.bottlenecks[0] for record in guides if record.signatures} - set(FIRES) - planted == set()


def test_a_few_counters_without_a_throughput_point_somewhere(guides):
    conflicts = {
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": 15_785_216,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 16_900_000,
        "launch__grid_size": 4096,
    }
    diagnosis = diagnose(profile(conflicts), guides)
    assert named(diagnosis) == ["no-usable-data"]
    assert [item.bottleneck for item in diagnosis.pointers] == ["shared-bank-conflict"]
    assert diagnosis.pointers[0].evidence[0].value == pytest.approx(93.4, abs=0.1)
    assert "l1tex__throughput.avg.pct_of_peak_sustained_active" in diagnosis.pointers[0].metrics


def test_a_profile_without_metrics_is_no_usable_data(guides):
    diagnosis = diagnose(profile({}), guides)
    assert named(diagnosis) == ["no-usable-data"]
    assert diagnosis.bottlenecks[0].guide == "guide/no-usable-data"
    assert "--section SpeedOfLight" in diagnosis.collect_next


def test_equal_headlines_mean_the_load_store_pipe_even_without_its_own_metric(guides):
    metrics = HEALTHY | {SM: 72.31, MEMORY: 72.31}
    del metrics[L1]
    found = named(diagnose(profile(metrics), guides))
    assert "l1-throughput" in found and "compute-bound-fma" not in found


def test_l1_busy_only_while_few_sms_are_active_is_not_an_l1_bound(guides):
    found = named(diagnose(profile(HEALTHY | {L1: 90, "sm__cycles_active.avg": 12, "sm__cycles_active.max": 96}), guides))
    assert "l1-throughput" not in found


def test_strided_access_is_named_where_the_headline_says_latency(guides):
    strided = {L1: 98, MEMORY: 49, ISSUE: 0.1, LATENCY: 60, stall("long_scoreboard"): 50, "memory_l2_theoretical_sectors_global": 3200}
    found = named(diagnose(profile(HEALTHY | strided), guides))
    assert found[0] in ("uncoalesced-access", "l1-throughput") and "uncoalesced-access" in found
    assert "latency-long-scoreboard" not in found


def test_sectors_per_request_above_any_width_show_strided_access_without_source_counters(guides):
    metrics = HEALTHY | {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 3200}
    del metrics["memory_l2_theoretical_sectors_global"]
    assert "uncoalesced-access" in named(diagnose(profile(metrics), guides))


def test_the_noisy_conflict_counter_does_not_outvote_the_exact_one(guides):
    noise = {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": 20, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 100}
    exact = {"memory_l1_wavefronts_shared": 100, "memory_l1_wavefronts_shared_ideal": 100}
    assert "shared-bank-conflict" not in named(diagnose(profile(HEALTHY | noise | exact), guides))


def test_full_occupancy_without_eligible_warps_is_latency_and_not_occupancy(guides):
    found = named(diagnose(profile(HEALTHY | FIRES["latency-long-scoreboard"]), guides))
    assert found == ["latency-long-scoreboard"]


def test_low_occupancy_beside_a_full_unit_is_not_a_bottleneck(guides):
    found = named(diagnose(profile(HEALTHY | FIRES["low-occupancy-registers"] | {SM: 90}), guides))
    assert "low-occupancy-registers" not in found


def test_tied_block_limits_are_both_named(guides):
    tie = FIRES["low-occupancy-registers"] | FIRES["low-occupancy-shared"]
    assert named(diagnose(profile(HEALTHY | tie), guides)) == ["low-occupancy-registers", "low-occupancy-shared"]


def test_a_small_grid_explains_low_throughput_before_latency_and_occupancy_do(guides):
    metrics = HEALTHY | FIRES["latency-long-scoreboard"] | FIRES["low-occupancy-registers"] | FIRES["small-grid"]
    found = named(diagnose(profile(metrics), guides))
    assert found == ["small-grid"]


def test_dram_at_its_limit_explains_long_scoreboard_stalls(guides):
    found = named(diagnose(profile(HEALTHY | FIRES["latency-long-scoreboard"] | {DRAM: 91, MEMORY: 91}), guides))
    assert found == ["well-optimized", "dram-bandwidth"]


@pytest.mark.parametrize(
    ("rates", "expected"),
    [({L2: 95, DRAM: 82, L2_HITS: 1}, "dram-bandwidth"), ({L2: 85, DRAM: 65, L2_HITS: 90}, "l2-bandwidth")],
    ids=["stream", "reuse"],
)
def test_a_full_l2_is_the_limit_only_where_reads_hit_in_it(rates, expected, guides):
    assert diagnose(profile(HEALTHY | rates | {MEMORY: rates[DRAM]}), guides).limits_first[0].id == expected


def test_without_a_hit_rate_it_is_open_whether_a_full_l2_beside_a_full_dram_is_a_limit(guides):
    diagnosis = diagnose(profile(BASIC | {L2: 75, DRAM: 70, MEMORY: 75}), guides)
    assert "dram-bandwidth" in named(diagnosis)
    assert L2_HITS in undecided(diagnosis)["l2-bandwidth"]


def test_enough_issued_instructions_make_low_occupancy_no_bottleneck(guides):
    found = named(diagnose(profile(HEALTHY | FIRES["low-occupancy-registers"] | {ISSUE: 0.68}), guides))
    assert found == []


def test_a_full_l1_or_l2_is_a_limit_but_not_well_optimized(guides):
    assert named(diagnose(profile(HEALTHY | FIRES["l2-bandwidth"]), guides)) == ["l2-bandwidth"]


def test_a_whole_number_of_waves_has_no_tail(guides):
    assert "tail-effect" not in named(diagnose(profile(HEALTHY | {WAVES: 2}), guides))


def test_a_tail_after_many_waves_is_not_named(guides):
    assert "tail-effect" not in named(diagnose(profile(HEALTHY | {WAVES: 7.1}), guides))


def test_blocks_that_run_longer_than_the_rest_are_an_imbalance_and_no_tail(guides):
    found = named(diagnose(profile(HEALTHY | {"sm__cycles_active.max": 100, "sm__cycles_active.avg": 60}), guides))
    assert found == ["load-imbalance"]


def test_local_arrays_are_not_spills_where_the_spill_counter_is_zero(guides):
    assert "register-spill" not in named(diagnose(profile(HEALTHY | {"smsp__inst_executed_op_local_ld.sum": 900}), guides))


def test_wasted_sectors_keep_a_busy_kernel_from_being_called_well_optimized(guides):
    found = named(diagnose(profile(HEALTHY | {MEMORY: 88, "memory_l2_theoretical_sectors_global": 3200}), guides))
    assert "well-optimized" not in found


@pytest.mark.parametrize(
    "id",
    ["dram-bandwidth", "l2-bandwidth", "l1-throughput", "low-occupancy-registers", "low-occupancy-shared", "small-grid", "tail-effect"],
)
def test_a_basic_report_is_enough_for_the_bottlenecks_it_measures(id, guides):
    changes = {name: value for name, value in FIRES[id].items() if name in BASIC}
    assert id in named(diagnose(profile(BASIC | changes), guides))


def test_low_compute_throughput_rules_out_every_full_pipe_without_a_pipe_metric(guides):
    open_now = undecided(diagnose(profile(BASIC), guides))
    assert not {"compute-bound-fma", "compute-bound-alu", "sfu-bound", "fp64-bound", "tensor-bound"} & set(open_now)


def test_the_busiest_pipe_is_the_one_that_is_named(guides):
    pipes = {
        "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed": 70,
        "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed": 78,
    }
    assert named(diagnose(profile(HEALTHY | pipes | {SM: 78}), guides)) == ["sfu-bound"]


def test_a_basic_report_says_which_metrics_and_sections_would_decide_the_rest(guides):
    basic = diagnose(profile(BASIC, sections=("SpeedOfLight", "LaunchStats", "Occupancy", "WorkloadDistribution")), guides)
    assert named(basic) == []
    assert undecided(basic)["latency-long-scoreboard"] == tuple(sorted((ISSUE, LATENCY, stall("long_scoreboard"))))
    assert basic.collect_next == (
        "--section ComputeWorkloadAnalysis --section MemoryWorkloadAnalysis --section MemoryWorkloadAnalysis_Tables "
        "--section SchedulerStats --section WarpStateStats --section InstructionStats --section SourceCounters --page raw --csv"
    )


def test_what_a_basic_report_names_is_provisional(guides):
    named_something = diagnose(profile(BASIC | {"launch__grid_size": 16}), guides)
    assert named(named_something) == ["small-grid"] and named_something.is_provisional
    for settled in (profile(HEALTHY), profile(HEALTHY | FIRES["shared-bank-conflict"]), profile({})):
        assert not diagnose(settled, guides).is_provisional


def test_a_gpu_that_idles_is_said_to_where_no_fault_is_named(guides):
    idle = diagnose(profile(BASIC | {SM: 0.9, MEMORY: 2.1, DRAM: 0.3, L2: 2.1, L1: 1.8}), guides)
    assert named(idle) == [] and idle.busiest == ("L2 throughput", 2.1)
    assert busiest_text(idle).startswith("no unit is busier than 2.1 % (L2 throughput)")
    assert (
        busiest_text(diagnose(profile(BASIC | {DRAM: 58, MEMORY: 58}), guides))
        == "the busiest unit that was read is at 58 % (DRAM throughput)"
    )
    assert busiest_text(diagnose(profile(HEALTHY | FIRES["shared-bank-conflict"]), guides)) == ""
    assert busiest_text(diagnose(profile({}), guides)) == ""


def test_sms_that_are_level_have_no_tail_and_full_wavefronts_no_conflict(guides):
    waves = {WAVES: 2.67, "gpc__cycles_elapsed.max": 467_352, "sm__cycles_active.avg": 446_865, SM: 40, MEMORY: 40}
    assert "tail-effect" not in named(diagnose(profile(BASIC | waves), guides))
    assert "tail-effect" in named(diagnose(profile(BASIC | waves | {"sm__cycles_active.avg": 400_000}), guides))
    stores = {
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": 241_690,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": 1_290_266,
    }
    assert [item.bottleneck for item in diagnose(profile(stores), guides).pointers] == ["shared-bank-conflict"]
    ideal = {"smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct": 100}
    assert diagnose(profile(stores | ideal), guides).pointers == ()


def test_a_counter_the_gpu_does_not_have_is_not_asked_for_again(guides):
    metrics = {name: value for name, value in HEALTHY.items() if name != DRAM}
    diagnosis = diagnose(profile(metrics, unavailable=(DRAM,)), guides)
    assert [(item.bottleneck, item.unavailable) for item in diagnosis.missing] == [("dram-bandwidth", (DRAM,))]
    assert diagnosis.collect_next == ""


def test_grid_and_number_of_sms_may_come_from_the_kernel_line_and_the_gpu_table(guides):
    gpu = resolve_gpu("H200", load_gpus(ROOT))
    metrics = {name: value for name, value in HEALTHY.items() if name not in ("launch__grid_size", "launch__sm_count")}
    diagnosis = diagnose(profile(metrics | {WAVES: 0.02}, grid=(4, 4, 1)), guides, gpu)
    assert named(diagnosis) == ["small-grid"]
    assert [(piece.value, piece.threshold) for piece in diagnosis.bottlenecks[0].evidence] == [(pytest.approx(16 / 132), 1)]


@pytest.mark.parametrize(
    ("words", "id"),
    [
        ("waiting for a scoreboard dependency on a L1TEX (local, global) operation.", "latency-long-scoreboard"),
        ("waiting for a scoreboard dependency\n  on a MIO (memory input/output) operation (not to L1TEX).", "latency-short-scoreboard"),
        ("waiting for sibling warps at a CTA barrier.", "barrier-stall"),
        ("waiting to be selected to fetch an instruction or waiting on an instruction cache miss.", "instruction-cache"),
    ],
)
def test_a_stall_that_only_a_rule_spells_out_is_evidence(words, id, guides):
    text = f"On average, each warp spends 30.5 cycles being stalled {words} About 76% of the total average of 40.1 cycles between issues."
    told = profile(BASIC | {ISSUE: 0.2}, rules=(RuleMessage("CPIStall", "OPT", text),))
    (found,) = (bottleneck for bottleneck in diagnose(told, guides).bottlenecks if bottleneck.id == id)
    assert found.evidence[1].value == pytest.approx(30.5 / 40.1 * 100)


def test_evidence_quotes_value_unit_operator_threshold_and_source():
    record = guide(signatures=[{"all": [condition("a__b.pct", ">=", 60)]}], severity="a__b.pct")
    (bottleneck,) = diagnose(Profile("k", metrics={"a__b.pct": Metric(61.5, "%", "3:9")}), [record]).bottlenecks
    (piece,) = bottleneck.evidence
    assert (piece.metric, piece.value, piece.unit, piece.op, piece.threshold, piece.source) == ("a__b.pct", 61.5, "%", ">=", 60, "test")


def test_equal_severities_are_ordered_by_id():
    records = [guide(f"guide/{id}", signatures=[{"all": [condition("a__b", ">", 0)]}], severity="a__b") for id in ("z", "a", "m")]
    assert named(diagnose(profile({"a__b": 5}), records)) == ["a", "m", "z"]


def shown_by(metric: str, id: str, explains: tuple[str, ...] = ()) -> GuideRecord:
    return guide(f"guide/{id}", signatures=[{"all": [condition(metric, ">", 0)]}], severity=metric, explains=explains)


def test_a_cause_stands_before_the_symptom_it_explains_and_is_named_there():
    records = [shown_by("a__b", "symptom"), shown_by("c__d", "cause", ("symptom",)), shown_by("e__f", "root", ("cause",))]
    found = diagnose(profile({"a__b": 90, "c__d": 60, "e__f": 40}), records).bottlenecks
    assert [(bottleneck.id, bottleneck.because_of) for bottleneck in found] == [("root", ""), ("cause", "root"), ("symptom", "cause")]


def test_a_cause_too_small_for_its_symptom_stands_by_severity():
    records = [shown_by("a__b", "symptom"), shown_by("c__d", "cause", ("symptom",))]
    found = diagnose(profile({"a__b": 90, "c__d": 20}), records).bottlenecks
    assert [(bottleneck.id, bottleneck.because_of) for bottleneck in found] == [("symptom", ""), ("cause", "")]


def test_guides_that_explain_each_other_are_ordered_all_the_same():
    records = [shown_by("a__b", "one", ("two",)), shown_by("c__d", "two", ("one",))]
    assert named(diagnose(profile({"a__b": 90, "c__d": 80}), records)) == ["two", "one"]


@pytest.mark.parametrize(
    ("words", "id", "value"),
    [
        ("This kernel has uncoalesced global accesses resulting in a total of 70 excessive sectors (70% of the\n total 100 sectors).",
         "uncoalesced-access", 70),
        ("This kernel has uncoalesced shared accesses resulting in a total of 30 excessive wavefronts (30% of the total 100 wavefronts).",
         "shared-bank-conflict", 30),
        ("ALU is the highest-utilized pipeline (91.1%) based on elapsed cycles in the workload.", "compute-bound-alu", 91.1),
        ("Shared is the highest-utilized pipeline (99.4%) based on elapsed cycles. It's dominated by its FP64 sub-pipeline. "
         "Based on the number of executed instructions, the highest utilized pipeline (33.1%) is FP64.", "fp64-bound", 99.4),
    ],
)  # fmt: skip
def test_counts_that_only_a_rule_spells_out_are_evidence(words, id, value, guides):
    told = profile(BASIC | {SM: 91}, rules=(RuleMessage("r", "OPT", words),))
    (found,) = (bottleneck for bottleneck in diagnose(told, guides).bottlenecks if bottleneck.id == id)
    assert value in [piece.value for piece in found.evidence]


def test_severity_is_clipped_to_a_hundred():
    record = guide(signatures=[{"all": [condition("a__b", ">", 0)]}], severity="a__b * 1000")
    assert diagnose(profile({"a__b": 5}), [record]).bottlenecks[0].severity == 100


@pytest.mark.parametrize("part", ["any", "none"])
def test_a_missing_metric_is_never_taken_for_an_answer(part):
    record = guide(signatures=[{"all": [condition("a__b", ">", 0)], part: [condition("c__d", ">", 0)]}], severity="a__b")
    diagnosis = diagnose(profile({"a__b": 5, SM: 1}), [record])
    assert (named(diagnosis), undecided(diagnosis)) == ([], {"made-up": ("c__d",)})


def test_a_condition_that_fails_decides_without_the_missing_metrics():
    record = guide(signatures=[{"all": [condition("a__b", ">", 9), condition("c__d", ">", 0)]}], severity="a__b")
    diagnosis = diagnose(profile({"a__b": 5, SM: 1}), [record])
    assert (named(diagnosis), undecided(diagnosis)) == ([], {})


def test_one_alternative_that_holds_is_enough():
    either = [condition("a__b", ">", 0), condition("c__d", ">", 0)]
    record = guide(signatures=[{"all": [condition("a__b", ">", 0)], "any": either}], severity="a__b")
    assert named(diagnose(profile({"a__b": 5}), [record])) == ["made-up"]


@pytest.mark.parametrize("op", [">", ">=", "<", "<=", "==", "!="])
def test_a_share_of_nothing_meets_no_condition(op):
    record = guide(signatures=[{"all": [condition("a__b / c__d", op, 0)]}], severity="a__b / c__d")
    assert named(diagnose(profile({"a__b": 0, "c__d": 0, SM: 1}), [record])) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("8 / 2 / 2", 2),
        ("-2 + 5", 3),
        ("max(1, 2, min(9, 3))", 3),
        ("floor(2.9)", 2),
        ("x__y.sum * 2", 10),
        ("first(no__such.sum, x__y.sum, 1)", 5),
        ("max(0 / 0, 4)", 4),
    ],
)
def test_arithmetic_follows_the_usual_rules(text, value):
    assert evaluate(parse_expression(text), {"x__y.sum": 5.0}.get).value == value


def test_metric_names_keep_dots_and_double_underscores():
    assert metric_names(parse_expression(f"{SM}-{MEMORY}/2")) == tuple(sorted((SM, MEMORY)))


@pytest.mark.parametrize(
    ("text", "unexpected"),
    [
        ("a__b +", "end"),
        ("a__b c__d", "c__d"),
        ("__import__('os')", "'os')"),
        ("a__b ** 2", "*"),
        ("floor(1, 2)", ")"),
        ("", "end"),
        ("(1", "end"),
    ],
)
def test_what_is_outside_the_grammar_is_refused_and_quoted(text, unexpected):
    with pytest.raises(InputError, match="metric expression") as error:
        parse_expression(text)
    assert f'unexpected "{unexpected}"' in str(error.value)


@given(st.text(alphabet="ab_.1 +-*/(),minfloort", max_size=40))
def test_any_text_is_parsed_or_refused_with_an_input_error(text):
    try:
        node = parse_expression(text)
    except InputError:
        return
    assert evaluate(node, lambda name: 1.0).value is not None


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"signatures": [{"all": [condition("a__b >", ">", 1)]}], "severity": "a__b"}, 'unexpected ">"'),
        ({"signatures": [{"all": [condition("throughput", ">", 1)]}], "severity": "1"}, '"throughput"'),
        ({"signatures": [{"all": [condition("a__b", ">", 1)]}], "severity": "c__d"}, "signature 1 does not require"),
        ({"signatures": [{"all": [condition("a__b", ">", 1)]}], "severity": "a__b", "sections": []}, "without sections"),
        ({"signatures": [{"all": [condition("a__b", ">", 1)]}], "severity": "a__b", "bound": None}, "severity without bound"),
        ({"sections": ["SpeedOfLite"]}, "unknown section 'SpeedOfLite'"),
    ],
)
def test_a_guide_that_cannot_be_executed_is_reported(fields, problem):
    assert any(problem in text for text in expression_problems(guide(**fields)))


def test_severity_may_choose_among_metrics_that_different_signatures_require():
    signatures = [{"all": [condition("a__b", ">", 1)]}, {"all": [condition("c__d", ">", 1)]}]
    assert expression_problems(guide(signatures=signatures, severity="first(a__b, c__d)")) == []

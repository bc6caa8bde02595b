"""The kept reports of the evidence kernels: what the diagnosis says first about each, what it must not say, in every export form."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from indexer.corpus import load_corpus
from indexer.records import GuideRecord
from kernel_wiki.reports.make_reports import source_hash
from retriever.diagnosis import RAW_PAGE, Diagnosis, diagnose
from retriever.reports.derive import with_derived
from retriever.reports.read import read_report

ROOT = Path(__file__).parent.parent
REPORTS = ROOT / "kernel_wiki" / "reports"
FORMS = ("raw.csv", "details.csv", "details.txt")
FAULT = 30.0
"""Severity from which a bottleneck reads like a fault to repair; what a kernel near its limit still shows stays below."""

FIRST = {
    "atomics_histogram": "atomics-contention",
    "bandwidth_copy": "dram-bandwidth",
    "barrier_heavy": "barrier-stall",
    "divergent_branches": "warp-divergence",
    "fma_chain": "compute-bound-fma",
    "fp64_chain": "fp64-bound",
    "histogram_privatized": "latency-long-scoreboard",
    "instruction_cache": "instruction-cache",
    "integer_hash": "compute-bound-alu",
    "l2_reuse": "l2-bandwidth",
    "launch_overhead": "launch-overhead",
    "low_occupancy_blocksize": "low-occupancy-blocksize",
    "low_occupancy_registers": "low-occupancy-registers",
    "low_occupancy_shared": "low-occupancy-shared",
    "naive_attention_scores": "uncoalesced-access",
    "naive_gemm": "l1-throughput",
    "naive_rmsnorm": "dram-bandwidth",  # two passes over 128 MiB: reads hit L2 in 9 %, DRAM is 67.5 % busy
    "naive_softmax": "uncoalesced-access",
    "naive_transpose": "uncoalesced-access",
    "pointer_chase": "latency-long-scoreboard",
    "reduction_shuffle": "dram-bandwidth",
    "register_spill": "register-spill",
    "sfu_exp": "sfu-bound",
    "sgemm_register_tiled": "compute-bound-fma",
    "shared_chase": "latency-short-scoreboard",
    "small_grid": "small-grid",
    "softmax_onepass": "dram-bandwidth",
    "tail_effect": "tail-effect",
    "tensor_gemm_mma": "low-occupancy-registers",  # 54 % of the tensor rate with one block of 8 warps an SM: mma.sync needs more of them
    "transpose_bank_conflict": "shared-bank-conflict",
    "transpose_padded": "dram-bandwidth",
    "wmma_from_global": "tensor-underused",
}
"""Kernel to the bottleneck that an expert names first."""

NEAR_THE_LIMIT = ("bandwidth_copy", "reduction_shuffle", "softmax_onepass", "transpose_padded", "fma_chain")
"""Kernels that have nothing left to repair: beside their limit nothing is severe."""

NEVER = {
    "atomics_histogram": {"latency-long-scoreboard", "l2-bandwidth"},
    "bandwidth_copy": {"l2-bandwidth", "uncoalesced-access", "latency-long-scoreboard"},
    "histogram_privatized": {"atomics-contention"},
    "instruction_cache": {"warp-divergence"},
    "l2_reuse": {"dram-bandwidth", "well-optimized"},
    "low_occupancy_registers": {"tensor-underused", "uncoalesced-access"},
    "low_occupancy_shared": {"shared-bank-conflict", "uncoalesced-access"},
    "low_occupancy_blocksize": {"uncoalesced-access"},
    "naive_attention_scores": {"well-optimized"},
    "naive_gemm": {"uncoalesced-access", "well-optimized"},
    "naive_softmax": {"well-optimized", "register-spill"},
    "pointer_chase": {"uncoalesced-access", "dram-bandwidth"},
    "reduction_shuffle": {"barrier-stall", "l2-bandwidth"},
    "register_spill": {"low-occupancy-registers"},
    "sgemm_register_tiled": {"uncoalesced-access", "shared-bank-conflict", "low-occupancy-registers"},
    "softmax_onepass": {"uncoalesced-access", "l2-bandwidth"},
    "tensor_gemm_mma": {"shared-bank-conflict", "uncoalesced-access", "tensor-underused"},
    "transpose_padded": {"shared-bank-conflict", "uncoalesced-access", "l2-bandwidth"},
}
"""Kernel to the bottlenecks that its report must not show: cured ones, and false leads of the first runs."""


@cache
def guides() -> tuple[GuideRecord, ...]:
    return tuple(record for record in load_corpus(ROOT).records.values() if isinstance(record, GuideRecord))


def is_of_the_present_source(name: str) -> bool:
    manifest = REPORTS / name / "manifest.json"
    return manifest.exists() and json.loads(manifest.read_text(encoding="utf-8"))["source_sha256"] == source_hash(name)


@cache
def diagnosis_of(name: str, form: str = "raw.csv") -> Diagnosis:
    if not is_of_the_present_source(name):
        pytest.skip(f"no report of the present {name}.cu yet: run kernel_wiki/reports/make_reports.py --only {name} on a GPU")
    (profile,) = read_report(REPORTS / name / form).profiles
    return diagnose(with_derived(profile), guides())


def named(diagnosis: Diagnosis) -> list[str]:
    return [bottleneck.id for bottleneck in diagnosis.bottlenecks]


@pytest.mark.parametrize("name", FIRST)
def test_the_first_bottleneck_is_the_one_an_expert_names_first(name):
    assert named(diagnosis_of(name))[:1] == [FIRST[name]]


@pytest.mark.parametrize("name", NEVER)
def test_a_cured_bottleneck_or_a_false_lead_is_not_named(name):
    assert not NEVER[name] & set(named(diagnosis_of(name)))


@pytest.mark.parametrize("name", NEAR_THE_LIMIT)
def test_a_kernel_near_its_limit_shows_no_severe_fault_beside_it(name):
    beside = [(bottleneck.id, bottleneck.severity) for bottleneck in diagnosis_of(name).bottlenecks[1:]]
    assert [pair for pair in beside if pair[1] >= FAULT] == []


@pytest.mark.parametrize("form", FORMS[1:])
@pytest.mark.parametrize("name", FIRST)
def test_the_details_page_gives_the_same_first_answer_or_says_what_it_lacks(name, form):
    diagnosis = diagnosis_of(name, form)
    lacks = {item.bottleneck for item in diagnosis.missing}
    assert named(diagnosis)[:1] == [FIRST[name]] or FIRST[name] in lacks
    if lacks:
        assert diagnosis.collect_next.endswith(RAW_PAGE)


@pytest.mark.parametrize("name", FIRST)
def test_both_forms_of_the_details_page_say_the_same(name):
    table, text = (diagnosis_of(name, form) for form in FORMS[1:])
    assert named(table) == named(text)
    assert table.missing == text.missing


@pytest.mark.parametrize("name", FIRST)
def test_every_value_of_the_details_page_stands_on_the_raw_page_under_the_name_of_its_label(name):
    diagnosis_of(name)  # skips where there is no report
    (text,), (raw,) = (read_report(REPORTS / name / form).profiles for form in ("details.txt", "raw.csv"))
    assert [label for label in text.metrics if raw.value(label) is None] == []
    assert {label: raw.value(label) for label in text.metrics} == {
        label: pytest.approx(metric.value, rel=6e-3, abs=6e-3) for label, metric in text.metrics.items()
    }


@pytest.mark.parametrize("name", FIRST)
def test_the_raw_page_of_a_full_report_leaves_nothing_undecided(name):
    assert diagnosis_of(name).missing == ()


def test_every_evidence_kernel_has_an_expectation():
    assert set(FIRST) == {path.stem for path in REPORTS.glob("*/*.cu")}


def test_most_kept_reports_are_of_the_present_source():
    present = [name for name in FIRST if is_of_the_present_source(name)]
    assert len(present) >= 20, "tests over skipped reports prove nothing; make the reports again"

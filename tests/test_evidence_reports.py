"""The kept reports of the evidence kernels: each shows the bottleneck it was written for, and its cured twin no longer does."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from indexer.corpus import load_corpus
from indexer.records import GuideRecord
from kernel_wiki.reports.make_reports import source_hash
from retriever.diagnosis import diagnose
from retriever.reports.read import read_report

ROOT = Path(__file__).parent.parent
REPORTS = ROOT / "kernel_wiki" / "reports"

SHOWS = {
    "bandwidth_copy": "dram-bandwidth",
    "naive_transpose": "uncoalesced-access",
    "transpose_bank_conflict": "shared-bank-conflict",
    "naive_softmax": "uncoalesced-access",
    "naive_gemm": "l1-throughput",
    "sgemm_register_tiled": "compute-bound-fma",
    "wmma_from_global": "tensor-underused",
    "small_grid": "small-grid",
    "tail_effect": "tail-effect",
    "register_spill": "register-spill",
    "low_occupancy_registers": "low-occupancy-registers",
    "low_occupancy_shared": "low-occupancy-shared",
    "low_occupancy_blocksize": "low-occupancy-blocksize",
    "pointer_chase": "latency-long-scoreboard",
    "shared_chase": "latency-short-scoreboard",
    "atomics_histogram": "atomics-contention",
    "divergent_branches": "warp-divergence",
    "barrier_heavy": "barrier-stall",
    "sfu_exp": "sfu-bound",
    "fma_chain": "compute-bound-fma",
    "fp64_chain": "fp64-bound",
    "integer_hash": "compute-bound-alu",
    "l2_reuse": "l2-bandwidth",
    "instruction_cache": "instruction-cache",
    "launch_overhead": "launch-overhead",
}
"""Kernel to the bottleneck that its report must show."""

CURED = {
    "transpose_padded": ("shared-bank-conflict", "uncoalesced-access"),
    "softmax_onepass": ("uncoalesced-access",),
    "sgemm_register_tiled": ("uncoalesced-access",),
    "histogram_privatized": ("atomics-contention",),
    "reduction_shuffle": ("barrier-stall",),
    "tensor_gemm_mma": ("shared-bank-conflict", "uncoalesced-access"),
}
"""Kernel to the bottlenecks that its report must not show any more."""


@cache
def guides() -> tuple[GuideRecord, ...]:
    return tuple(record for record in load_corpus(ROOT).records.values() if isinstance(record, GuideRecord))


@cache
def bottlenecks(name: str) -> tuple[str, ...]:
    path = REPORTS / name / "raw.csv"
    if not path.exists():
        pytest.skip(f"no report of {name} yet: run kernel_wiki/reports/make_reports.py on a GPU")
    (profile,) = read_report(path).profiles
    return tuple(bottleneck.id for bottleneck in diagnose(profile, guides()).bottlenecks)


@pytest.mark.parametrize("name", SHOWS)
def test_an_evidence_kernel_shows_its_bottleneck(name):
    assert SHOWS[name] in bottlenecks(name)


@pytest.mark.parametrize("name", CURED)
def test_a_cured_kernel_no_longer_shows_the_bottleneck(name):
    assert not set(CURED[name]) & set(bottlenecks(name))


def test_every_evidence_kernel_has_an_expectation():
    assert set(SHOWS) | set(CURED) == {path.stem for path in REPORTS.glob("*/*.cu")}


def test_every_kept_report_is_of_the_present_source():
    stale = [
        path.parent.name
        for path in sorted(REPORTS.glob("*/manifest.json"))
        if json.loads(path.read_text(encoding="utf-8"))["source_sha256"] != source_hash(path.parent.name)
    ]
    assert stale == []

"""What the committed validation records claim: the targets of the zoo are met on the GPU that made them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernel_wiki.harness import discover, findings
from tests.corpora import REPOSITORY

ZOO = REPOSITORY / "kernel_wiki" / "zoo"
H200 = "nvidia-h200"
MATRIX = ("attention", "gemm")
SHARE = {"segment_sum": 0.85}
"""Of the copy bandwidth where 0.90 is not reached: rows of a segment begin anywhere, and segments end anywhere in a worker's share."""


def record(operator: str, name: str) -> dict:
    return json.loads(discover.record_path(operator, name, H200, ZOO).read_text(encoding="utf-8"))


def timings(operator: str, prefix: str = "") -> dict[str, list[dict]]:
    """Case name to the timings of the implementations whose name starts with `prefix`."""
    found: dict[str, list[dict]] = {}
    for entry in discover.implementations(operator, ZOO):
        if entry.name.startswith(prefix):
            for timing in record(operator, entry.name)["timings"]:
                found.setdefault(timing["case"], []).append(timing)
    return found


@pytest.mark.parametrize("operator", [name for name in discover.operators(ZOO) if name not in MATRIX])
def test_a_bandwidth_bound_operator_reaches_90_per_cent_of_the_copy_bandwidth_of_its_run(operator: str) -> None:
    shares = [timing["share_of_ceiling"] for case in timings(operator).values() for timing in case]
    assert max(shares) >= SHARE.get(operator, 0.90)


@pytest.mark.parametrize("operator", MATRIX)
def test_triton_reaches_75_per_cent_of_the_best_library_in_every_timed_case(operator: str) -> None:
    for case, found in timings(operator, "triton").items():
        best = max(min(speed["speedup"] for speed in timing["baselines"].values() if speed) for timing in found)
        assert best >= 0.75, case


@pytest.mark.parametrize("operator", discover.operators(ZOO))
def test_every_implementation_was_accepted_on_its_present_source_and_at_least_two_wrong_variants_rejected(operator: str) -> None:
    for entry in discover.implementations(operator, ZOO):
        found = record(operator, entry.name)
        assert found["verdict"] == "accepted" and found["cases"], entry.id
        checked = [case for case in found["cases"] if "skipped" not in case]
        assert all(case["error_norm"] <= case["tolerance"] and case["worst_ratio"] <= 1 for case in checked), entry.id
        assert any("drawn" in case for case in checked), entry.id
        assert found["hashes"] == discover.source_hashes(operator, entry.name, ZOO), entry.id
    wrong = record(operator, "wrong")["variants"]
    assert {entry.name for entry in discover.wrong_variants(operator, ZOO)} == set(wrong) and len(wrong) >= 2
    judged = {name: found for name, found in wrong.items() if found["verdict"] != "unfinished"}
    assert all([found["stage"], found["category"]] == found["expected_as"] for found in judged.values()), judged
    assert len(judged) >= 2


def test_the_wrong_variants_reach_every_stage_and_every_category_but_slower() -> None:
    pages = [record(operator, "wrong")["variants"].values() for operator in discover.operators(ZOO)]
    rejected = [found for page in pages for found in page if found["verdict"] == "rejected"]
    assert len(rejected) >= 85
    assert {found["stage"] for found in rejected} == set(findings.STAGES)
    assert {found["category"] for found in rejected} == set(findings.CATEGORIES) - {"slower"}  # which is what the attempts are


def test_every_measured_attempt_is_right_and_slower_than_its_parent() -> None:
    attempts = [entry for operator in discover.operators(ZOO) for entry in discover.attempts(operator, ZOO)]
    found = [json.loads(discover.entry_record_path(entry, H200).read_text(encoding="utf-8")) for entry in attempts]
    measured = [each for each in found if each["timings"]]
    assert len(measured) >= 6
    assert {(each["stage"], each["category"]) for each in measured} == {("measure", "slower")}


def test_no_record_names_a_place_on_a_machine() -> None:
    for path in (*Path(ZOO).glob("*/validation/*/*.json"), *Path(ZOO).parent.glob("attempts/*/validation/*/*.json")):
        text = path.read_text(encoding="utf-8")
        assert not [word for word in ("/work", "/tmp", "/root", "/home") if word in text], path

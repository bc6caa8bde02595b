"""Failed attempts: records of what was right and slower, found by search, shown as warnings, and held to their measurements."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from indexer.corpus import load_corpus
from indexer.evidence import zoo_evidence
from indexer.records import AttemptRecord
from kernel_wiki.harness import discover
from kernel_wiki.harness.nvcc import CompileError, find_nvcc
from retriever.check import check_corpus
from retriever.evidence import loss_text
from retriever.json_forms import hit_json
from retriever.service import Warplore
from retriever.show import show_json, show_text
from tests.corpora import REPOSITORY, write_corpus

PAGE = "kernel_wiki/attempts/transpose/direct.md"
SOURCE = "kernel_wiki/attempts/transpose/direct.py"
RECORD = "kernel_wiki/attempts/transpose/validation/nvidia-h200/direct.json"
PARENT = "zoo/transpose/padded"
TEXT = """---
title: Transpose by strided stores
summary: Stores columns at once, without a tile; each store of a warp touches 32 lines.
families: [transpose]
techniques: [coalescing]
bottlenecks: [uncoalesced-access]
dtypes: [fp32]
languages: [triton]
targets: [sm_80]
parent: zoo/transpose/padded
reviewed: 2026-11-29
---

## What was tried

No shared memory.

## What was expected

Fewer instructions.

## Why it lost

Thirty-two lines an instruction.

## When it might win

Narrow matrices.
"""
CODE = '"""Transpose, directly."""\n\n\ndef run(x):\n    return quixotic_scatter(x)\n'
HEADINGS = ["What was tried", "What was expected", "Why it lost", "When it might win"]
ATTEMPTS = [entry for operator in discover.operators() for entry in discover.attempts(operator)]


def with_attempt(root: Path, page: str = TEXT, code: str | None = CODE) -> Path:
    return write_corpus(root, **{PAGE: page, SOURCE: code})


def measure(root: Path, *speedups: float, **changes: object) -> None:
    """Write the record that the harness would write for these speeds against the parent."""
    entry = discover.attempt_entry("transpose", "direct", root / "kernel_wiki" / "zoo")
    timings = [
        {
            "case": f"M{n}",
            "time_us": 10.0,
            "gbps": 100.0,
            "tflops": 0.0,
            "share_of_ceiling": 0.5,
            "baselines": {PARENT: {"speedup": speedup}},
        }
        for n, speedup in enumerate(speedups)
    ]
    body = {"verdict": "rejected", "stage": "measure", "category": "slower", "date": "2026-11-29", "gpu": {"name": "NVIDIA H200"}}
    path = discover.entry_record_path(entry, "nvidia-h200")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**body, "timings": timings, "hashes": discover.entry_hashes(entry), **changes}), encoding="utf-8")


def opened(folder: Path, *speedups: float, **changes: object) -> Warplore:
    root = with_attempt(folder / "corpus")
    if speedups:
        measure(root, *speedups, **changes)
    return Warplore(root, cache=folder / "cache", encoder="hash")


def test_an_attempt_is_a_record_of_its_own_kind_and_knows_its_parent(tmp_path: Path) -> None:
    root = with_attempt(tmp_path)
    corpus = load_corpus(root)
    record = corpus.records["attempt/transpose/direct"]
    assert corpus.problems == () and isinstance(record, AttemptRecord)
    assert (record.kind, record.path, record.parent) == ("attempt", PAGE, PARENT)
    (entry,) = discover.attempts("transpose", root / "kernel_wiki" / "zoo")
    assert entry.is_attempt and entry.id == "transpose/direct"
    assert discover.parent_of(entry) == PARENT
    assert set(discover.entry_hashes(entry)) == {"direct.py", "contract.py"}
    assert discover.entry_record_path(entry, "nvidia-h200") == root / RECORD


@pytest.mark.parametrize(
    ("new", "message"),
    [("", "required key parent is missing"), ("parent: technique/swizzle\n", "parent: String should match pattern")],
)
def test_an_attempt_without_an_implementation_as_its_parent_is_refused(tmp_path: Path, new: str, message: str) -> None:
    (problem,) = load_corpus(with_attempt(tmp_path, TEXT.replace("parent: zoo/transpose/padded\n", new))).problems
    assert problem.startswith(f"{PAGE}:") and message in problem


@pytest.mark.parametrize(
    ("speedups", "text"),
    [
        ((0.7634,), "1.31x slower than zoo/transpose/padded"),
        ((0.95, 0.8), "1.05x to 1.25x slower than zoo/transpose/padded"),
        ((1.001, 0.8), "up to 1.25x slower than zoo/transpose/padded"),
        ((1.002, 0.999), "no faster than zoo/transpose/padded"),
    ],
)
def test_the_loss_is_read_from_the_record(speedups: tuple[float, ...], text: str) -> None:
    timings = [{"baselines": {PARENT: {"speedup": speedup}}} for speedup in speedups]
    record = {"gpu": "nvidia-h200", "gpu_facts": {"name": "NVIDIA H200"}, "date": "2026-11-29", "timings": timings}
    assert loss_text(record, PARENT) == f"measured on NVIDIA H200, 2026-11-29: {text}"


def test_an_attempt_is_found_by_its_words_and_by_its_code(tmp_path: Path) -> None:
    core = opened(tmp_path, 0.8)
    assert core.rank(core.situation("quixotic_scatter of a transpose")).hits[0].id == "attempt/transpose/direct"
    hit = next(hit for hit in core.rank(core.situation("transpose by strided stores", gpu="H200")).hits if hit.kind == "attempt")
    form = hit_json(hit)
    assert form["evidence"] == {
        "level": "measured-slower",
        "text": "measured on NVIDIA H200, 2026-11-29: 1.25x slower than zoo/transpose/padded",
    }
    assert form["evidence"]["text"] in form["why"]


def test_an_attempt_that_no_gpu_has_measured_says_so(tmp_path: Path) -> None:
    core = opened(tmp_path)
    hit = next(hit for hit in core.rank(core.situation("transpose by strided stores")).hits if hit.kind == "attempt")
    assert (hit.evidence.level, hit.evidence.text) == ("none", "not measured yet")
    assert "not measured yet" in show_text(core.root, core.entry("attempt/transpose/direct"))


@pytest.mark.parametrize("changed", [SOURCE, "kernel_wiki/zoo/transpose/contract.py"])
def test_a_measurement_of_other_sources_or_another_contract_counts_for_nothing(tmp_path: Path, changed: str) -> None:
    core = opened(tmp_path, 0.8)
    assert core.index.records["attempt/transpose/direct"]["evidence"]["validations"][0]["fresh"]
    with (core.root / changed).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    again = Warplore(core.root, cache=core.cache, encoder="hash")
    assert not again.index.records["attempt/transpose/direct"]["evidence"]["validations"][0]["fresh"]
    hit = next(hit for hit in again.rank(again.situation("transpose by strided stores")).hits if hit.kind == "attempt")
    assert hit.evidence.level == "none"
    assert "STALE" in show_text(again.root, again.entry("attempt/transpose/direct"))


def test_a_pack_warns_of_a_measured_attempt_of_the_family_after_its_guides_and_shows_no_code(tmp_path: Path) -> None:
    core = opened(tmp_path, 0.8)
    pack = core.context(core.situation("transpose with shared memory bank conflicts", gpu="H200"), 8000)
    kinds = [section.kind for section in pack.sections]
    (warning,) = (section for section in pack.sections if section.kind == "attempt")
    assert "tried and slower: measured on NVIDIA H200" in warning.text and "quixotic_scatter" not in pack.text
    assert warning.tokens < 150
    assert kinds.index("guide") < kinds.index("attempt") < kinds.index("technique")
    other = core.context(core.situation("gemm with wgmma", gpu="H200"), 8000)
    assert "attempt" not in [section.kind for section in other.sections]


def test_a_pack_does_not_warn_of_what_nobody_measured(tmp_path: Path) -> None:
    core = opened(tmp_path)
    pack = core.context(core.situation("transpose with shared memory bank conflicts", gpu="H200"), 8000)
    assert "attempt" not in [section.kind for section in pack.sections]


def test_showing_an_attempt_gives_page_loss_and_code(tmp_path: Path) -> None:
    core = opened(tmp_path, 0.8)
    record = core.entry("attempt/transpose/direct")
    text = show_text(core.root, record)
    assert f"A failed attempt: meant to beat `{PARENT}`." in text
    assert "1.25x slower than zoo/transpose/padded" in text and f"vs {PARENT}" in text and "quixotic_scatter" in text
    form = show_json(core.root, record)
    assert form["files"] == {SOURCE: CODE} and form["parent"] == PARENT
    assert form["evidence"]["validations"][0]["category"] == "slower"


def test_the_command_line_lists_attempts_alone(tmp_path: Path) -> None:
    root = with_attempt(tmp_path / "corpus")
    command = [sys.executable, "-m", "retriever", "search", "transpose", "--kind", "attempt", "--json", "--corpus", str(root)]
    environment = {**os.environ, "WARPLORE_CACHE": str(tmp_path / "cache"), "WARPLORE_ENCODER": "hash"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, env=environment)
    assert [hit["id"] for hit in json.loads(done.stdout)["hits"]] == ["attempt/transpose/direct"]


@pytest.mark.parametrize(
    ("speedups", "changes", "problem"),
    [
        ((), {}, "validation record missing"),
        ((0.8,), {"hashes": {}}, "validation record stale on nvidia-h200"),
        ((1.2,), {"verdict": "accepted"}, "it beats its parent now on nvidia-h200; move it into the zoo"),
        ((), {"stage": "correctness", "category": "mismatch"}, "rejected on nvidia-h200 at correctness (mismatch)"),
    ],
)
def test_an_attempt_must_be_measured_right_and_slower(
    tmp_path: Path, speedups: tuple[float, ...], changes: dict[str, object], problem: str
) -> None:
    root = with_attempt(tmp_path)
    if speedups or changes:
        measure(root, *speedups, **changes)
    assert [found for found in check_corpus(root)[0] if found.startswith(f"{PAGE}:1: {problem}")]


def test_a_measured_attempt_has_no_problem_and_a_page_without_source_has_one(tmp_path: Path) -> None:
    root = with_attempt(tmp_path)
    measure(root, 0.8)
    assert not [found for found in check_corpus(root)[0] if "attempts" in found]
    (root / SOURCE).rename(root / "kernel_wiki/attempts/transpose/other.py")
    found = check_corpus(root)[0]
    assert f"{PAGE}:1: no source beside it; write direct.py" in found
    assert "kernel_wiki/attempts/transpose/other.md:1: no page beside other.py; write it" in found


def test_a_parent_of_another_operator_and_a_folder_without_operator_are_problems(tmp_path: Path) -> None:
    root = with_attempt(tmp_path, TEXT.replace(PARENT, "zoo/copy/fast"))
    (root / "kernel_wiki/attempts/transposes").mkdir()
    (root / "kernel_wiki/attempts/transposes/x.py").write_text("", encoding="utf-8")
    found = check_corpus(root)[0]
    assert [line for line in found if line.startswith(f"{PAGE}:1: its parent zoo/copy/fast is another operator's")]
    assert [line for line in found if line.startswith(f'{PAGE}:1: no entry "zoo/copy/fast"')]
    assert 'kernel_wiki/attempts/transposes/:1: no operator of the zoo is called so; did you mean "transpose"?' in found


def test_every_attempt_of_the_repository_says_what_why_and_when_and_names_a_parent_of_its_operator() -> None:
    corpus = load_corpus(REPOSITORY)
    records = [record for record in corpus.records.values() if isinstance(record, AttemptRecord)]
    assert {record.id for record in records} == {f"attempt/{entry.id}" for entry in ATTEMPTS}
    assert len(ATTEMPTS) >= 8
    for record in records:
        assert re.findall(r"(?m)^## (.+)$", record.body) == HEADINGS, record.id
        assert record.parent in corpus.records and record.parent.split("/")[1] == record.id.split("/")[1]
        assert not re.search(r"\d x slower|\d+(?:\.\d+)? (?:us|GB/s|TFLOP/s)\b", record.body.replace("TB/s", "")), record.id
        assert zoo_evidence(REPOSITORY, record)["compiled"] == {}


def lines_of(what: str, **environment: str) -> list[str]:
    command = [sys.executable, "-W", "ignore", "-m", "tests.run_attempts", what]
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_every_attempt_compiles_for_hopper_without_spilling() -> None:
    pytest.importorskip("triton")
    try:
        find_nvcc()
    except CompileError as missing:
        pytest.skip(str(missing))
    lines = lines_of("compile")
    assert [line for line in lines if not line.endswith(" ok")] == []
    assert [line.split()[0] for line in lines] == [entry.id for entry in ATTEMPTS]


def test_every_attempt_in_triton_is_right_on_small_cases_and_views() -> None:
    pytest.importorskip("triton")
    lines = lines_of("interpret", TRITON_INTERPRET="1")
    assert [line for line in lines if not line.endswith(" ok")] == []
    assert {line.split()[0] for line in lines} == {entry.id for entry in ATTEMPTS if not entry.has_cuda}

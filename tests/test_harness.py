"""The harness without a GPU: discovery, staleness, isolation, correctness on a fake operator, the compile lane, the tools' output."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from kernel_wiki.harness import __main__ as main
from kernel_wiki.harness import discover, findings, judge, nvcc, profile, record, sanitize

CONTRACT = """
    import torch
    from kernel_wiki.harness.contract import Case, Dim, Tolerance, Work, draw

    OPERATOR, SIGNATURE, BOUND = "double", "run(x: (N,)) -> (N,)", "bandwidth"
    CASES = (Case({"n": 5}, "fp32"), Case({"n": 33}, "bf16", "large"), Case({"n": 1 << 30}, "fp32", timed=True))
    TOLERANCES = {"fp32": Tolerance(1e-6, 1e-6, 0.0), "bf16": Tolerance(4e-3, 8e-3, 0.0)}

    def make_inputs(case, generator, device):
        return (draw((case.shape["n"],), case, generator, device),)

    def reference(x):
        return x.double() * 2

    def work(case):
        return Work(8 * case.shape["n"], case.shape["n"])

    BASELINES = {"torch": lambda x: x * 2}
    DIMS = {"n": Dim(1, 5000)}
    VIEWS = {"offset": (0,)}
    ALLOWED_OPS = ("*",)
"""

CANDIDATES = {
    "honest": "def run(x):\n    return x + x\n",
    "wrong_value": "def run(x):\n    return x * 2.1\n",
    "wrong_in_place": "def run(x):\n    y = x + x\n    x.zero_()\n    return y\n",
    "wrong_alias": "def run(x):\n    return x.mul_(2)\n",
    "wrong_subclass": "import torch\n\nclass Lazy(torch.Tensor):\n    pass\n\ndef run(x):\n    return (x * 2).as_subclass(Lazy)\n",
    "wrong_memory": "CACHE = {}\n\ndef run(x):\n    return CACHE.setdefault(x.data_ptr(), x * 2)\n",
    "wrong_crash": "import os, signal\n\ndef run(x):\n    os.kill(os.getpid(), signal.SIGSEGV)\n",
    "wrong_exit": "import os\n\ndef run(x):\n    os._exit(0)\n",
    "wrong_syntax": "def run(x:\n",
    "wrong_name": "def walk(x):\n    return x\n",
}
EXPECTED = {
    "wrong_value": ("correctness", "mismatch"),
    "wrong_in_place": ("correctness", "cheat"),
    "wrong_alias": ("correctness", "cheat"),
    "wrong_subclass": ("correctness", "cheat"),
    "wrong_memory": ("correctness", "cheat"),
    "wrong_crash": ("run", "memory-fault"),
    "wrong_exit": ("run", "cheat"),
    "wrong_syntax": ("static", "syntax"),
    "wrong_name": ("static", "symbol"),
}
HANGING = "import time\n\ndef run(x):\n    time.sleep(600)\n"


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A zoo of one operator that doubles its input, with honest, wrong and crashing candidates."""
    folder = tmp_path_factory.mktemp("zoo") / "double"
    folder.mkdir()
    (folder / "contract.py").write_text(textwrap.dedent(CONTRACT), encoding="utf-8")
    for name, source in CANDIDATES.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    return folder.parent


def options(zoo: Path, **more: object) -> judge.Options:
    return judge.Options(device="cpu", zoo=zoo, timeout_s=90, jobs=2, **more)


def test_listing_the_zoo_imports_neither_torch_nor_an_operator() -> None:
    code = (
        "import sys; from kernel_wiki.harness import discover, judge, __main__; "
        "names = [e.id for o in discover.operators() for e in discover.implementations(o)]; "
        "assert 'softmax/triton_rowwise' in names; "
        "bad = {'torch', 'triton', 'pydantic', 'typer', 'yaml', 'indexer', 'retriever'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=discover.ZOO.parents[1])


def test_names_select_entries_and_an_unknown_name_lists_what_there_is(zoo: Path) -> None:
    assert [entry.id for entry in discover.select("all", zoo)] == ["double/honest"]
    assert [entry.id for entry in discover.select("double/wrong_value", zoo, wrong=True)] == ["double/wrong_value"]
    with pytest.raises(LookupError, match=r'no entry "double/honset".*double/honest'):
        discover.select("double/honset", zoo)


def test_targets_are_read_from_the_front_matter_only(tmp_path: Path) -> None:
    (tmp_path / "op").mkdir()
    (tmp_path / "op" / "a.md").write_text('---\ntitle: x\ntargets: [sm_80, "sm_90a"]\n---\ntargets: [sm_1]\n', encoding="utf-8")
    (tmp_path / "op" / "b.md").write_text("---\ntitle: x\n---\ntargets: [sm_1]\n", encoding="utf-8")
    assert discover.targets("op", "a", tmp_path) == ["sm_80", "sm_90a"]
    assert discover.targets("op", "b", tmp_path) == []


def test_a_record_is_missing_then_valid_then_rejected_then_stale(tmp_path: Path) -> None:
    folder = tmp_path / "op"
    folder.mkdir()
    for name in ("contract.py", "a.py", "a.cu"):
        (folder / name).write_text(f"# {name}\n", encoding="utf-8")
    assert discover.record_status("op", "a", zoo=tmp_path).status == "missing"
    path = discover.record_path("op", "a", discover.gpu_slug("NVIDIA H200"), tmp_path)
    assert path.parent.name == "nvidia-h200"
    entry = discover.Entry("op", "a", folder)
    value = record.build(entry, {"verdict": "accepted"}, {"name": "NVIDIA H200"}, "2026-01-01", 1)
    assert sorted(value["hashes"]) == ["a.cu", "a.py", "contract.py"]
    record.write(value, path)
    assert discover.record_status("op", "a", zoo=tmp_path).status == "valid"
    record.reject(value, findings.Finding("run", "race", "racecheck: hazard"))
    record.write(value, path)
    assert discover.record_status("op", "a", "nvidia-h200", tmp_path).status == "rejected"
    (folder / "a.cu").write_text("// changed\n", encoding="utf-8")
    state = discover.record_status("op", "a", zoo=tmp_path)
    assert (state.status, state.reason) == ("stale", "changed since: a.cu")
    assert state.command == "python -m kernel_wiki.harness validate op/a"


def test_the_judge_accepts_the_honest_candidate_and_records_errors_and_the_seed(zoo: Path) -> None:
    found = judge.validate("double", "honest", options(zoo, seed=7))
    assert found["verdict"] == "accepted", found["hint"]
    assert found["seed"] == 7
    listed = [case["name"] for case in found["cases"] if not {"drawn", "view"} & set(case)]
    assert listed == ["N5-fp32", "N33-bf16-large"]  # the timed gigabyte is left to a GPU
    assert sum("drawn" in case for case in found["cases"]) == 4
    assert [case["view"] for case in found["cases"] if "view" in case] == ["offset"]
    assert all(case["error_norm"] <= case["tolerance"] and case["worst_ratio"] <= 1 for case in found["cases"])
    assert found["hashes"] == discover.source_hashes("double", "honest", zoo)


def test_the_judge_rejects_every_wrong_candidate_for_what_it_is(zoo: Path) -> None:
    page = judge.judge_wrong(discover.select("double", zoo, wrong=True), options(zoo))["double"]
    found = {name: (item["stage"], item["category"]) for name, item in page["variants"].items()}
    assert found == EXPECTED
    assert all(item["verdict"] == "rejected" and item["hint"] for item in page["variants"].values())


def test_a_run_is_resumed_from_a_record_of_the_same_sources_only(zoo: Path, tmp_path: Path) -> None:
    (entry,) = discover.select("double/honest", zoo)
    kept = record.build(entry, {"verdict": "accepted", "cases": [{"name": "kept"}]}, {"name": "cpu"}, "2026-01-01", 1)
    (found,) = judge.validate_many([entry], options(zoo, rounds=0, known=lambda entry: kept))
    assert [case["name"] for case in found["cases"]] == ["kept"]  # nothing was run again
    assert judge._usable({**kept, "hashes": {}}, entry) is None
    assert judge._usable({**kept, "verdict": "rejected"}, entry) is None


def test_some_wrong_variants_judged_again_join_the_page_of_the_others(tmp_path: Path) -> None:
    earlier = {"variants": {"wrong_a": 1, "wrong_b": 1, "wrong_gone": 1}, "hashes": {"wrong_a.py": "x", "wrong_b.py": "x"}}
    path = record.write(earlier, tmp_path / "wrong.json")
    joined = main._joined({"variants": {"wrong_b": 2}, "hashes": {"wrong_b.py": "y"}}, path, {"wrong_a", "wrong_b"})
    assert joined == {"variants": {"wrong_a": 1, "wrong_b": 2}, "hashes": {"wrong_a.py": "x", "wrong_b.py": "y"}}


def test_a_hanging_candidate_is_killed_and_reported_with_its_case(zoo: Path, tmp_path: Path) -> None:
    folder = tmp_path / "double"
    folder.mkdir()
    (folder / "contract.py").write_text((zoo / "double" / "contract.py").read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "sleeper.py").write_text(HANGING, encoding="utf-8")
    found = judge.validate("double", "sleeper", judge.Options(device="cpu", zoo=tmp_path, timeout_s=9))
    assert (found["verdict"], found["category"]) == ("rejected", "hang")
    assert found["hint"].startswith("no answer within 9 s")


def test_the_compile_lane_builds_a_triton_kernel_for_every_target_of_its_page() -> None:
    (entry,) = discover.select("softmax/triton_rowwise")
    (found,) = judge.compile_many([entry], judge.Options(device="cpu"))
    assert found["verdict"] == "accepted", found["hint"]
    assert list(found["targets"]) == discover.targets("softmax", "triton_rowwise")
    needs = found["targets"]["sm_90"]["kernels"]["softmax_rowwise"]
    assert 16 <= needs["registers"] <= 255
    assert needs["spill_bytes"] == 0
    assert needs["smem_bytes"] > 0  # the reduction across warps


@pytest.mark.parametrize(
    ("capability", "target"), [((8, 0), "sm_80"), ((8, 9), "sm_89"), ((9, 0), "sm_90a"), ((10, 0), "sm_100a"), ((12, 0), "sm_120a")]
)
def test_nvcc_targets_are_architecture_specific_from_hopper_on(capability: tuple[int, int], target: str) -> None:
    assert nvcc.target_of(capability) == target


def test_nvcc_errors_quote_the_first_errors_only() -> None:
    text = "\n".join(["a.cu(1): warning: unused", *(f"a.cu({n}): error: number {n}" for n in range(2, 20))])
    assert nvcc.first_errors(text).splitlines() == [f"a.cu({n}): error: number {n}" for n in range(2, 2 + nvcc.ERROR_LINES)]


def test_ptxas_output_gives_registers_shared_memory_and_spills_of_each_kernel() -> None:
    log = textwrap.dedent("""\
        ptxas info    : Compiling entry function 'first' for 'sm_90a'
        ptxas info    : Function properties for first
            16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
        ptxas info    : Used 32 registers, used 1 barriers, 1024 bytes smem
        ptxas info    : Compiling entry function 'second' for 'sm_90a'
        ptxas info    : Function properties for second
            0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
        ptxas info    : Used 10 registers, used 0 barriers
    """)
    assert nvcc.parse_ptxas_log(log) == {"first": nvcc.Resources(32, 1024, 12), "second": nvcc.Resources(10, 0, 0)}


@pytest.mark.parametrize(
    ("error", "stage", "category"),
    [
        (RuntimeError("CUDA error: an illegal memory access was encountered"), "run", "memory-fault"),
        (RuntimeError("k: launch with grid (1, 1, 1), block (2048, 1, 1): CUDA_ERROR_INVALID_VALUE"), "launch", "launch"),
        (RuntimeError("k: launch: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"), "launch", "resource"),
        (nvcc.CompileError("a.cu: nvcc failed"), "compile", "syntax"),
        (NameError("name 'tl' is not defined"), "run", "symbol"),
        (TypeError("run() takes 1 positional argument"), "run", "type"),
    ],
    ids=["fault", "launch", "resource", "compile", "name", "type"],
)
def test_an_exception_is_classified_by_what_it_says(error: Exception, stage: str, category: str) -> None:
    found = findings.from_exception(error, "run")
    assert (found.stage, found.category) == (stage, category)


def test_ncu_output_is_grouped_by_marker_and_the_longest_kernel_is_kept() -> None:
    stall = profile.STALL.format("long_scoreboard")
    rows = [
        ["Kernel Name", "Grid Size", "gpu__time_duration.sum", stall],
        ["", "", "ns", ""],
        ["void fill<FillFunctor<short>>(int)", "(1, 1, 1)", "900", "1"],
        ["small", "(1, 1, 1)", "10", "1"],
        ["large", "(9, 1, 1)", "1,234.5", "7.25"],
        ["void fill<FillFunctor<short>>(int)", "(1, 1, 1)", "900", "1"],
        ["other", "(2, 1, 1)", "20", "(!) n/a"],
    ]
    log = "==PROF== Connected to process 1\n" + "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows)
    first, second = profile.parse(log)
    assert profile.key_metrics(first) == {
        "kernel": "large",
        "launches": 2,
        "grid": "(9, 1, 1)",
        "block": None,
        "metrics": {"gpu__time_duration.sum": 1234.5},
        "stalls": {"long_scoreboard": 7.25},
    }
    assert profile.key_metrics(second)["stalls"] == {}
    with pytest.raises(LookupError, match="ERR_NVGPUCTRPERM"):
        profile.parse("==ERROR== ERR_NVGPUCTRPERM")


def test_an_entry_alone_is_asked_again_where_a_sanitizer_gave_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    run, entries = judge._Run(judge.Options(device="cpu")), discover.select("softmax/triton_rowwise,sum/cuda_atomic", discover.ZOO)
    unanswered, passed = {"verdict": "skipped", "detail": "no answer within 44 s"}, {"verdict": "pass"}
    answers = iter([unanswered, passed, unanswered])
    monkeypatch.setattr(run, "_sanitizer_verdict", lambda tool, entries: next(answers))
    assert run._sanitize_with("racecheck", entries[:1]) == passed
    assert run._sanitize_with("racecheck", entries) == unanswered
    assert not [*answers]


def test_a_sanitizer_passes_only_with_a_clean_summary_and_a_finished_worker() -> None:
    clean = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
    bad = "========= Invalid __global__ write of size 4 bytes\n=========     at k+0x10\n========= ERROR SUMMARY: 3 errors\n"
    assert sanitize.verdict(0, clean, finished=True) == {"verdict": "pass"}
    assert sanitize.verdict(0, clean, finished=False)["verdict"] == "error"
    assert sanitize.verdict(1, "", finished=False)["verdict"] == "error"
    found = sanitize.verdict(sanitize.ERROR_EXIT, bad, finished=True)
    assert (found["verdict"], found["errors"]) == ("fail", 3)
    assert found["detail"].startswith("Invalid __global__ write of size 4 bytes")
    hazard = "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n"
    assert sanitize.verdict(0, hazard, finished=True)["verdict"] == "fail"


def test_the_gpu_lane_fails_when_it_ran_nothing(tmp_path: Path) -> None:
    conftest = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = gpu: needs a GPU\n", encoding="utf-8")
    test = tmp_path / "test_it.py"

    def status(body: str, *arguments: str) -> int:
        test.write_text(f"import pytest\n\n@pytest.mark.gpu\ndef test_it():\n    {body}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, str(tmp_path)]
        return subprocess.run(command, capture_output=True, cwd=tmp_path).returncode

    assert status("pytest.skip('no GPU')") == 0
    assert status("pytest.skip('no GPU')", "-m", "gpu") == 1
    assert status("pass", "-m", "gpu") == 0

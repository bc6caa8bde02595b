"""The maintainer's path: scaffold, judge, who is fastest, who improves on whom, what must be rejected, what check demands."""

from __future__ import annotations

import ast
import datetime
import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from indexer.gpus import resolve_gpu
from kernel_wiki.harness import champions, discover, judge, remote
from retriever import cli
from retriever.champions import present_champion
from retriever.check import check_corpus
from retriever.lineage import chain, gain_text, lineage_problems, lineage_text, tree_text
from retriever.service import Warplore
from retriever.zoo import limits_from, nearest_runnable
from retriever.zoo_new import MARK, Answers, scaffold
from retriever.zoo_wrong import disagreements, wrong_rows
from tests.corpora import REPOSITORY, write_corpus
from tests.test_harness import CONTRACT

PAGE = """---
title: Doubling, {name}
summary: Adds a vector to itself.
families: [elementwise]
techniques: [coalescing]
bottlenecks: [dram-bandwidth]
dtypes: [fp32, bf16]
languages: [triton]
targets: [{targets}]
requires: [{requires}]
{parent}license: Apache-2.0
reviewed: 2026-11-29
---

## What makes it fast

One read, one write.
"""
H200 = "NVIDIA H200"
TODAY = datetime.date(2026, 11, 29)
ANSWER_KEYS = {"id", "operator", "impl", "gpu", "ran", "record", "cases", "timings", "sanitizer"} | {
    *("verdict", "stage", "category", "location", "expected", "actual", "first_bad", "case", "hint", "replay")
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tiny corpus with the operator `double` and two implementations of it."""
    root = write_corpus(tmp_path / "corpus")
    zoo = root / "kernel_wiki" / "zoo"
    for template in (REPOSITORY / "kernel_wiki" / "zoo").glob("_template*"):
        shutil.copy(template, zoo / template.name)
    (zoo / "double").mkdir()
    (zoo / "double" / "contract.py").write_text(textwrap.dedent(CONTRACT), encoding="utf-8")
    add(zoo, "plain")
    add(zoo, "quick", parent="zoo/double/plain")
    return root


@pytest.fixture
def zoo(root: Path) -> Path:
    return root / "kernel_wiki" / "zoo"


@pytest.fixture
def core(root: Path, tmp_path: Path) -> Warplore:
    return Warplore(root, cache=tmp_path / "cache", encoder="hash")


@pytest.fixture
def run(root: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    """Runs `warplore zoo ...` in this process; gives exit code, stdout and stderr."""
    monkeypatch.setenv("WARPLORE_CORPUS", str(root))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["warplore", "zoo", *arguments])
        try:
            cli.main()
            code = 0
        except SystemExit as error:
            code = int(error.code or 0)
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def add(zoo: Path, name: str, parent: str = "", requires: str = "", targets: str = "sm_80", operator: str = "double") -> None:
    """An implementation with its page."""
    folder = zoo / operator
    line = f"parent: {parent}\n" if parent else ""
    page = PAGE.format(name=name, parent=line, requires=requires, targets=targets)
    (folder / f"{name}.md").write_text(page, encoding="utf-8")
    (folder / f"{name}.py").write_text(f'"""{name}"""\n\n\ndef run(x):\n    return x + x\n', encoding="utf-8")


def timing(share: float, case: str = "N8-fp32", spread: float = 0.002, **baselines: dict) -> dict:
    return {"case": case, "time_us": round(100 / share, 1), "spread": spread, "share_of_ceiling": share, "baselines": baselines}


def record(zoo: Path, name: str, *timings: dict, gpu: str = H200, verdict: str = "accepted", hashes: dict | None = None) -> None:
    """A validation record of `double`."""
    body = {
        "operator": "double",
        "impl": name,
        "verdict": verdict,
        "hint": None if verdict == "accepted" else "off by one",
        "gpu": {"name": gpu, "capability": "9.0"},
        "hashes": discover.source_hashes("double", name, zoo) if hashes is None else hashes,
        "timings": list(timings),
        "cases": [],
        "date": "2026-11-29",
    }
    path = discover.record_path("double", name, discover.gpu_slug(gpu), zoo)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(body), encoding="utf-8")


def baseline(time_us: float, speedup: float, verdict: str = "faster") -> dict:
    return {"time_us": time_us, "spread": 0.001, "speedup": speedup, "low": speedup, "high": speedup, "verdict": verdict}


# Who is fastest.


def test_the_leader_of_a_case_is_the_one_nearest_to_its_own_run_s_ceiling(zoo: Path) -> None:
    library = {"torch": baseline(120.0, 1.2), "torch.compile": baseline(103.0, 1.03), "zoo/double/plain": baseline(101.0, 1.01)}
    record(zoo, "plain", timing(0.80))
    record(zoo, "quick", timing(0.90, **library) | {"time_us": 200.0})  # slower clocks: the time alone would mislead
    (lead,) = champions.leads("double", zoo)
    assert (lead.champion, lead.runner_up, lead.time_us, lead.dtype) == ("zoo/double/quick", "zoo/double/plain", 200.0, "fp32")
    assert lead.margin == 0.125 and not lead.level
    assert (lead.best_baseline, lead.speedup, lead.verdict) == ("torch.compile", 1.03, "faster")


def test_two_closer_than_their_spreads_are_level(zoo: Path) -> None:
    record(zoo, "plain", timing(0.80, spread=0.03))
    record(zoo, "quick", timing(0.84, spread=0.03))
    assert champions.leads("double", zoo)[0].level
    record(zoo, "quick", timing(0.88, spread=0.03))
    assert not champions.leads("double", zoo)[0].level


def test_what_cannot_be_compared_is_left_out_and_named_with_the_reason(zoo: Path) -> None:
    for name in ("stale", "refused", "untimed", "unknown"):
        add(zoo, name)
    record(zoo, "plain", timing(0.8))
    record(zoo, "stale", timing(0.99), hashes={"stale.py": "0"})
    record(zoo, "refused", timing(0.99), verdict="rejected")
    record(zoo, "untimed")
    found = {one.id.rsplit("/", 1)[1]: one.reason for one in champions.left_out("double", zoo)}
    assert found == {
        "stale": "stale: its sources changed since",
        "refused": "rejected: off by one",
        "untimed": "accepted, not timed",
        "unknown": "no record",
        "quick": "no record",
    }
    assert champions.leads("double", zoo)[0].runner_up is None


def test_the_champion_leads_most_cases_and_equals_are_parted_by_the_geometric_mean(zoo: Path) -> None:
    assert champions.champion("double", "nvidia-h200", zoo) is None
    record(zoo, "plain", timing(0.9, "A-fp32"), timing(0.9, "B-fp32"), timing(0.1, "C-fp32"))
    record(zoo, "quick", timing(0.8, "A-fp32"), timing(0.8, "B-fp32"), timing(0.9, "C-fp32"))
    assert champions.champion("double", "nvidia-h200", zoo) == "plain"
    record(zoo, "plain", timing(0.9, "A-fp32"), timing(0.1, "B-fp32"))
    record(zoo, "quick", timing(0.8, "A-fp32"), timing(0.8, "B-fp32"))
    assert champions.champion("double", "nvidia-h200", zoo) == "quick"
    assert champions.champion("double", "nvidia-a100", zoo) is None


def test_the_comparison_imports_neither_torch_nor_a_schema() -> None:
    names = "{'torch', 'pydantic', 'indexer'} & set(sys.modules)"
    code = f"import sys; from kernel_wiki.harness import champions, remote; bad = {names}; assert not bad, bad"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=REPOSITORY)


def test_champions_answers_json_of_the_promised_shape_for_the_gpu_asked_for(run, zoo: Path) -> None:
    record(zoo, "plain", timing(0.8))
    record(zoo, "quick", timing(0.9), gpu="NVIDIA A100-SXM4-80GB")
    code, out, _ = run("champions", "double", "--gpu", "H200", "--json")
    form = json.loads(out)
    assert code == 0 and set(form) == {"schema", "champions", "left_out"}
    assert [lead["champion"] for lead in form["champions"]] == ["zoo/double/plain"]
    keys = {"operator", "gpu", "case", "dtype", "champion", "time_us", "margin", "runner_up", "level", "best_baseline", "speedup"}
    assert set(form["champions"][0]) >= keys
    _, out, _ = run("champions")
    assert "left out: zoo/transpose/padded: no record" in out
    assert run("champions", "dubble")[2].startswith('warplore: no operator "dubble"; did you mean "double"?')


# Lineage.


def test_lineage_goes_both_ways_with_the_gain_that_a_record_holds(zoo: Path, run) -> None:
    add(zoo, "quicker", parent="zoo/double/quick")
    over = {"zoo/double/plain": baseline(110.0, 1.1)}
    record(zoo, "quick", timing(0.9, "A-fp32", **over), timing(0.9, "B-fp32", **{"zoo/double/plain": baseline(100.0, 1.0, "level")}))
    found = chain("zoo/double/quick", zoo)
    assert [one["id"] for one in found["improves_on"]] == ["zoo/double/plain"]
    assert [one["id"] for one in found["improved_by"]] == ["zoo/double/quicker"]
    text = lineage_text("zoo/double/quick", zoo)
    assert "improves on `zoo/double/plain`: 1.00x to 1.10x as fast over 2 timed cases (1 faster, 1 level) on NVIDIA H200" in text
    assert "improved by `zoo/double/quicker`: not measured against each other" in text
    assert tree_text("double", zoo).splitlines()[2].startswith("        zoo/double/quicker")
    code, out, _ = run("lineage", "double", "--json")
    assert code == 0 and [one["parent"] for one in json.loads(out)["implementations"]] == [None, "zoo/double/plain", "zoo/double/quick"]


def test_a_stale_record_holds_no_gain(zoo: Path) -> None:
    record(zoo, "quick", timing(0.9, **{"zoo/double/plain": baseline(110.0, 1.1)}), hashes={})
    assert gain_text(chain("zoo/double/quick", zoo)["improves_on"][0]["gains"]) == "not measured against each other"


def test_a_parent_of_another_operator_and_a_circle_are_problems(zoo: Path, root: Path) -> None:
    add(zoo, "plain", parent="zoo/double/quick")
    add(zoo, "odd", parent="zoo/transpose/padded")
    assert lineage_problems("double", zoo) == [
        ("odd", 'parent "zoo/transpose/padded" is not an implementation of double'),
        ("plain", 'parent "zoo/double/quick" leads back to itself'),
        ("quick", 'parent "zoo/double/plain" leads back to itself'),
    ]
    assert lineage_text("zoo/double/plain", zoo)  # and nothing turns round for ever
    assert 'kernel_wiki/zoo/double/odd.md:1: parent "zoo/transpose/padded" is not' in "\n".join(check_corpus(root)[0])


# Scaffolds.


def nobody(option: str, question: str, default: str | None) -> str | None:
    return default


def test_a_new_implementation_is_valid_code_that_cannot_be_taken_for_finished(run, root: Path, zoo: Path) -> None:
    record(zoo, "quick", timing(0.9))
    code, out, _ = run("new", "double/triton_next", "--json")
    form = json.loads(out)
    made = [Path(path) for path in form["created"]]
    assert code == 0 and [path.name for path in made] == ["triton_next.md", "triton_next.py"]
    assert any("warplore zoo validate double/triton_next" in step for step in form["next"])
    assert "parent: zoo/double/quick" in made[0].read_text(encoding="utf-8")  # the present champion
    assert "double/triton_next" in [entry.id for entry in discover.implementations("double", zoo)]
    problems = "\n".join(check_corpus(root)[0])
    for path in made:
        lines = [number for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1) if MARK in line]
        assert len(lines) >= 5
        assert all(f"kernel_wiki/zoo/double/{path.name}:{number}: not written yet: {MARK}" in problems for number in lines)


@pytest.mark.parametrize("language", ["triton", "cuda"])
def test_every_scaffold_is_clean_for_the_linter(run, zoo: Path, language: str) -> None:
    assert run("new", f"double/{language}_next")[0] == 0
    assert run("new", "fresh", "--family", "norm", "--language", language, "--bound", "matrix", "--dtypes", "bf16,fp32")[0] == 0
    made = [*zoo.glob(f"double/{language}_*.py"), *zoo.glob("fresh/*.py")]
    assert len(made) == 5
    settings = ["--config", str(REPOSITORY / "pyproject.toml"), "--no-cache"]
    for words in (["check"], ["format", "--check"]):
        done = subprocess.run([sys.executable, "-m", "ruff", *words, *settings, *map(str, made)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert not re.search(r"\bthe_[a-z]+", "".join(path.read_text(encoding="utf-8") for path in made))
    assert all(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) for path in made)


def test_a_scaffolded_operator_is_rejected_honestly(run, zoo: Path) -> None:
    assert run("new", "fresh", "--family", "norm", "--language", "triton")[0] == 0
    assert [entry.name for entry in discover.wrong_variants("fresh", zoo)] == ["wrong_cached_output", "wrong_dropped_tail"]
    code, out, _ = run("validate", "fresh", "--device", "cpu", "--json")
    (answer,) = json.loads(out)["results"]
    # The contract's own gap is found first, and it is no fault of the candidate's.
    assert code == 1 and answer["verdict"] == "error" and f"NotImplementedError: {MARK}" in answer["hint"]
    contract = (zoo / "double" / "contract.py").read_text(encoding="utf-8").replace('"double"', '"fresh"')
    (zoo / "fresh" / "contract.py").write_text(contract, encoding="utf-8")
    _, out, _ = run("validate", "fresh", "--device", "cpu", "--json")
    (answer,) = json.loads(out)["results"]
    assert (answer["verdict"], answer["stage"], answer["category"]) == ("rejected", "run", "type")
    assert answer["hint"] == f"NotImplementedError: {MARK}: run of fresh/triton_simple" and answer["location"] == "triton_simple.py:21"


def test_nothing_is_overwritten(run, zoo: Path) -> None:
    before = (zoo / "double" / "plain.py").read_text(encoding="utf-8")
    code, _, err = run("new", "double/plain", "--language", "triton")
    assert code == 2 and "exists; nothing was written" in err
    assert (zoo / "double" / "plain.py").read_text(encoding="utf-8") == before
    assert run("new", "double")[2].startswith('warplore: operator "double" exists')


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("double/fast",), "--language is needed"),
        (("fresh",), "--family is needed"),
        (("fresh", "--family", "nrom"), '--family "nrom" is no word of the vocabulary; did you mean "norm"?'),
        (("fresh", "--family", "norm", "--bound", "latency"), '--bound "latency" is none of: bandwidth, matrix'),
        (("double/Fast",), '"Fast" cannot name an implementation'),
        (("double/wrong_one", "--language", "cuda"), '"wrong_one" cannot name an implementation'),
        (("dou-ble/x",), '"dou-ble" cannot name an operator'),
        (("double/cuda_x", "--language", "triton"), '"cuda_x" says cuda, --language says triton'),
        (("double/cuda_x", "--parent", "plian"), '--parent "plian" is no implementation of double; did you mean "zoo/double/plain"?'),
        (("fresh/cuda_x",), 'no operator "fresh"; make it first: warplore zoo new fresh --impl cuda_x'),
    ],
)
def test_a_missing_or_bad_answer_is_one_line_that_names_its_option(run, arguments: tuple[str, ...], message: str, zoo: Path) -> None:
    code, out, err = run("new", *arguments)
    assert code == 2 and out == "" and err.startswith(f"warplore: {message}") and err.count("\n") == 1
    assert not (zoo / "fresh").exists()


def test_on_a_terminal_what_no_option_says_is_asked(core: Warplore) -> None:
    asked: dict[str, str | None] = {}

    def person(option: str, question: str, default: str | None) -> str | None:
        asked[option] = default
        return {"--language": "cuda", "--parent": "none"}[option]

    made = scaffold(core, "double/fast", Answers(), person, TODAY)
    assert asked == {"--language": None, "--parent": "none"}
    assert sorted(path.suffix for path in made.files) == [".cu", ".md", ".py"]
    page = next(text for path, text in made.files.items() if path.suffix == ".md")
    assert "parent:" not in page and "reviewed: 2026-11-29" in page
    assert present_champion(core, "double") is None


def test_a_parent_may_be_named_in_short(core: Warplore) -> None:
    for name in ("plain", "double/plain", "zoo/double/plain"):
        made = scaffold(core, "double/cuda_x", Answers(parent=name), nobody, TODAY)
        assert any("parent: zoo/double/plain\n" in text for text in made.files.values())


# Judging.


def test_a_candidate_from_elsewhere_gets_a_verdict_and_leaves_no_record(run, tmp_path: Path, root: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def run(x):\n    return x + x\n", encoding="utf-8")
    before = sorted(root.rglob("*.json"))
    code, out, _ = run("validate", str(file), "--operator", "double", "--device", "cpu", "--json")
    (answer,) = json.loads(out)["results"]
    assert code == 0 and set(answer) == ANSWER_KEYS
    assert (answer["verdict"], answer["id"], answer["ran"], answer["record"]) == ("accepted", str(file), True, None)
    assert sorted(root.rglob("*.json")) == before


def test_a_rejection_is_a_block_that_says_where_and_how_to_run_it_again(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPLORE_FAILURES", str(tmp_path / "failures"))
    file = tmp_path / "mine.py"
    file.write_text("def run(x):\n    return x * 2.1\n", encoding="utf-8")
    code, out, _ = run("validate", str(file), "--operator", "double", "--device", "cpu", "--out", str(tmp_path / "out"))
    assert code == 1 and f"{file}  rejected  correctness/mismatch" in out
    for name in ("case", "expected", "actual", "first bad", "hint"):
        assert re.search(rf"^  {name} +\S", out, re.MULTILINE), name
    assert (tmp_path / "out" / "double" / "validation" / "cpu" / "mine.json").is_file()
    again = re.search(r"^  again +warplore zoo (.+)$", out, re.MULTILINE)
    assert again and "--replay" in again[1]
    code, out, _ = run(*again[1].split(), "--device", "cpu", "--json")
    (answer,) = json.loads(out)["results"]
    assert code == 1 and answer["category"] == "mismatch"


def test_a_file_beside_a_contract_needs_no_operator_and_others_are_told_which_there_are(run, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def walk(x):\n    return x\n", encoding="utf-8")
    code, _, err = run("validate", str(file))
    assert code == 2 and err.endswith("Give --operator NAME; there are: double, transpose\n")
    assert 'did you mean "double"?' in run("validate", str(file), "--operator", "duble")[2]
    assert "no such file" in run("validate", str(tmp_path / "none.py"))[2]
    (tmp_path / "contract.py").write_text(textwrap.dedent(CONTRACT), encoding="utf-8")
    code, out, _ = run("validate", str(file), "--gpu", "A100", "--json")
    (answer,) = json.loads(out)["results"]
    assert code == 1 and (answer["stage"], answer["category"]) == ("static", "symbol")


def test_without_a_gpu_the_ways_on_are_named(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "has_gpu", lambda: False)
    code, _, err = run("validate", "double")
    assert code == 2 and "--host user@machine" in err and "--gpu NAME" in err and "--device cpu" in err


def test_for_a_gpu_that_is_not_here_nothing_runs_and_the_nearest_that_would_is_named(run, zoo: Path) -> None:
    add(zoo, "hopper_only", requires="wgmma, tma", targets="sm_90a")
    code, out, _ = run("validate", "double", "--gpu", "A100", "--json")
    answers = {answer["impl"]: answer for answer in json.loads(out)["results"]}
    assert code == 1 and not any(answer["ran"] for answer in answers.values())
    assert {name: answer["verdict"] for name, answer in answers.items()} == {
        "hopper_only": "rejected",
        "plain": "not-run",
        "quick": "not-run",
    }
    assert answers["plain"]["hint"].startswith("nothing was run: no NVIDIA A100-SXM4-80GB here")
    assert (answers["hopper_only"]["stage"], answers["hopper_only"]["category"]) == ("static", "resource")
    assert "wgmma" in answers["hopper_only"]["hint"] and answers["hopper_only"]["hint"].endswith(
        "; nearest that runs there: zoo/double/plain"
    )


def test_the_nearest_that_runs_is_the_best_proved_one(core: Warplore, zoo: Path) -> None:
    gpu = resolve_gpu("H200", core.gpus)
    assert nearest_runnable(core, "double", gpu) == "zoo/double/plain"
    record(zoo, "quick", timing(0.7))
    assert nearest_runnable(core, "double", gpu) == "zoo/double/quick"
    assert nearest_runnable(core, "double", gpu, other_than="zoo/double/quick") == "zoo/double/plain"
    assert nearest_runnable(core, "nothing", gpu) is None


def test_limits_come_from_the_table(core: Warplore) -> None:
    h200, a100 = (limits_from(resolve_gpu(name, core.gpus)) for name in ("H200", "A100"))
    assert (h200.smem_per_block_bytes, h200.capability, h200.max_cluster) == (232448, "9.0", 16)
    assert (a100.smem_per_block_bytes, a100.registers_per_thread, a100.max_cluster) == (166912, 255, 1)
    assert "wgmma" in h200.features and "wgmma" not in a100.features


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("double", "--host", "-oProxyCommand=x"), "is no machine"),
        (("double", "--host", "far", "--gpu", "A100"), "leave out --gpu"),
        (("double", "--device", "tpu"), '--device "tpu" is none of: cuda, cpu'),
        (("dubble",), 'no entry "dubble"'),
        (("double/plain", "--device", "cpu", "--replay", "none.json"), "none.json: no saved failure"),
    ],
)
def test_what_does_not_go_together_is_one_line(run, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run("validate", *arguments)
    assert code == 2 and out == "" and message in err and "Traceback" not in err


def test_records_from_another_machine_are_written_here_and_what_did_not_come_back_was_not_run(run, zoo: Path, monkeypatch) -> None:
    asked: list[remote.Remote] = []

    def far(entries, there, arguments, say) -> list[dict]:
        asked.append(there)
        assert list(arguments) == ["--rounds", "5"]
        record(zoo, "plain", timing(0.8))
        path = discover.record_path("double", "plain", "nvidia-h200", zoo)
        body = json.loads(path.read_text(encoding="utf-8")) | {"replay": "/there/x.json"}
        path.unlink()
        return [body]

    monkeypatch.setattr(remote, "validate", far)
    code, out, _ = run("validate", "double", "--host", "me@far", "--remote-python", "python3.12", "--rounds", "5", "--json")
    plain, quick = json.loads(out)["results"]
    assert code == 1 and asked == [remote.Remote("me@far", "python3.12", "cuda")]
    assert (plain["verdict"], plain["gpu"], plain["replay"]) == ("accepted", H200, None)
    assert Path(plain["record"]) == discover.record_path("double", "plain", "nvidia-h200", zoo) and Path(plain["record"]).is_file()
    assert (quick["verdict"], quick["ran"]) == ("not-run", False) and quick["hint"].startswith("no record came back from me@far")


def test_an_interrupted_run_elsewhere_has_its_own_exit_code(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def far(*_: object) -> list[dict]:
        raise remote.RemoteError("interrupted; no record was written", 130)

    monkeypatch.setattr(remote, "validate", far)
    assert run("validate", "double", "--host", "me@far")[::2] == (130, "warplore: interrupted; no record was written\n")


# What must be rejected.


def wrong(zoo: Path, name: str, text: str) -> None:
    (zoo / "double" / f"wrong_{name}.py").write_text(text, encoding="utf-8")


def judged_wrong(zoo: Path, **variants: tuple[str, str, str]) -> None:
    """A wrong.json of the H200 with `name=(verdict, stage, category)`."""
    hashes = {}
    for name in variants:
        hashes |= discover.source_hashes("double", f"wrong_{name}", zoo)
    found = {
        f"wrong_{name}": {"verdict": verdict, "stage": stage, "category": category, "hint": None}
        for name, (verdict, stage, category) in variants.items()
    }
    path = discover.record_path("double", "wrong", "nvidia-h200", zoo)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"gpu": {"name": H200}, "hashes": hashes, "variants": found}), encoding="utf-8")


def test_wrong_variants_are_listed_without_being_imported(zoo: Path, run) -> None:
    wrong(zoo, "tail", '"""Wrong on purpose: the tail is dropped."""\n\nREJECTED_AS = ("correctness", "mismatch")\nraise SystemExit\n')
    wrong(zoo, "broken", "def run(x:\n")
    judged_wrong(zoo, tail=("rejected", "correctness", "mismatch"))
    broken, tail = wrong_rows(zoo, "double")
    assert (tail["does"], tail["expected"]) == ("the tail is dropped.", ["correctness", "mismatch"])
    assert [(found["gpu"], found["fresh"]) for found in tail["found"]] == [(H200, True)]
    assert (broken["does"], broken["expected"], broken["found"]) == ("does not parse", None, [])
    code, out, _ = run("wrong", "double")
    assert code == 0 and "correctness/mismatch" in out and "not stated" in out


def test_a_variant_without_an_expectation_or_found_for_another_reason_is_a_problem(zoo: Path, root: Path) -> None:
    stated = '"""Wrong on purpose: x."""\n\nREJECTED_AS = ("correctness", "cheat")\n'
    wrong(zoo, "other", stated)
    wrong(zoo, "passed", stated)
    wrong(zoo, "silent", '"""Wrong on purpose: x."""\n')
    judged_wrong(zoo, other=("rejected", "run", "race"), passed=("accepted", None, None))
    found = {row["name"]: list(disagreements(row)) for row in wrong_rows(zoo, "double")}
    assert found == {
        "wrong_other": ["REJECTED_AS is correctness/cheat, but NVIDIA H200 found run/race"],
        "wrong_passed": ["NVIDIA H200 accepted it; the contract of double is too weak"],
        "wrong_silent": ['states no REJECTED_AS = ("stage", "category")'],
    }
    assert f"kernel_wiki/zoo/double/wrong_other.py:1: {found['wrong_other'][0]}" in check_corpus(root)[0]
    wrong(zoo, "other", stated + "# changed since\n")
    assert not list(disagreements(wrong_rows(zoo, "double")[0]))  # stale: says nothing any more


def test_check_names_the_command_that_renews_a_record(root: Path, zoo: Path) -> None:
    record(zoo, "plain", timing(0.8), hashes={})
    problems = check_corpus(root)[0]
    renew = "renew it on a GPU: warplore zoo validate double/{} [--host user@machine]"
    changed = "contract.py, plain.py"
    assert f"kernel_wiki/zoo/double/plain.md:1: validation record stale (changed since: {changed}); {renew.format('plain')}" in problems
    assert f"kernel_wiki/zoo/double/quick.md:1: validation record missing (no record); {renew.format('quick')}" in problems

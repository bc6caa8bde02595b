"""A GPU that was typed beside a report of another: the report's own is what it is read by, and the contradiction is said once."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from indexer.gpus import Gpu, load_gpus, resolve_gpu
from indexer.vocabulary import load_vocabulary
from retriever.compare import compare
from retriever.diagnosis import diagnose
from retriever.inputs import find_gpu, gpu_note, maker_name, reading_gpu
from retriever.json_forms import situation_json
from retriever.lookup import lookup_of
from retriever.reports.profile import Metric, Profile, Report
from retriever.reports.weak_form import FORM
from retriever.service import Warplore
from retriever.situation import read_situation
from retriever.typed_facts import Typed, with_typed
from tests.commands import said
from tests.corpora import REPOSITORY

H200_REPORT = str(REPOSITORY / "tests" / "data" / "reports" / "raw_2025.csv")
CONSOLE_REPORT = str(REPOSITORY / "tests" / "data" / "reports" / "console_2025.txt")
COMPILED = Profile("k", compute_capability="9.0", attributes={FORM: "ptxas -v"})


def gpu(name: str) -> Gpu:
    return find_gpu(name, load_gpus(REPOSITORY))


def launch(device: str | None = "NVIDIA H200", capability: str | None = "9.0", **counts: float) -> Profile:
    return Profile("k", device=device, compute_capability=capability, metrics={n: Metric(v, "", "1:1") for n, v in counts.items()})


def note(profile: Profile, typed: str) -> str:
    """With the table's entry for the report's own GPU, as far as it has one."""
    return gpu_note(profile, gpu(typed), gpu(profile.device) if profile.device else None)


def test_another_compute_capability_is_said_in_one_line_above_all_launches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = said([H200_REPORT, "--gpu", "A100"], monkeypatch, capsys).splitlines()
    assert lines[0].startswith("! the report was made on NVIDIA H200 of compute capability 9.0, not on NVIDIA A100-SXM4-80GB (8.0): ")
    assert sum("not on NVIDIA A100" in line for line in lines) == 1
    assert sum("  NVIDIA H200  grid" in line for line in lines) == 2


def test_the_same_line_is_the_first_note_of_the_json_and_the_gpu_is_the_report_s(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    form = json.loads(said([H200_REPORT, "--gpu", "A100", "--json"], monkeypatch, capsys))
    assert form["notes"][0] == form["kernels"][0]["gpu_note"] and "not on NVIDIA A100-SXM4-80GB" in form["notes"][0]
    assert [kernel["gpu"] for kernel in form["kernels"]] == ["NVIDIA H200", "NVIDIA H200"]


def test_a_report_that_gives_only_its_compute_capability_contradicts_as_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said([CONSOLE_REPORT, "--gpu", "A100"], monkeypatch, capsys)
    assert text.startswith("! the report was made on a GPU of compute capability 9.0, not on NVIDIA A100-SXM4-80GB (8.0): ")
    assert "  compute capability 9.0  grid" in text and text.count("A100") == 1


@pytest.mark.parametrize("typed", ["H200", "nvidia h200", "H200 SXM", "9.0", "sm_90a"])
def test_nothing_is_said_where_both_mean_the_same(typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    plain = said([H200_REPORT, "--json"], monkeypatch, capsys)
    assert json.loads(said([H200_REPORT, "--gpu", typed, "--json"], monkeypatch, capsys))["notes"] == json.loads(plain)["notes"]


def test_the_usual_name_of_a_product_agrees_with_what_the_driver_calls_it() -> None:
    assert note(launch("NVIDIA H100 80GB HBM3", launch__sm_count=132), "H100 SXM") == ""
    assert note(launch("NVIDIA A100-SXM4-80GB", "8.0", launch__sm_count=108), "A100") == ""


def test_a_product_of_the_same_compute_capability_is_noted_by_what_it_changes() -> None:
    assert note(launch(), "H200 NVL") == ""
    assert note(launch(), "H100") == (
        "the report was made on NVIDIA H200 of compute capability 9.0, not on NVIDIA H100 80GB HBM3 of the same: 4,800 GB/s, not 3,350"
    )
    assert note(launch(), "H100 PCIe").endswith(": 132 SMs, not 114; 4,800 GB/s, not 2,000")


def test_sms_that_were_counted_go_before_those_of_the_table() -> None:
    nameless = launch(None, device__attribute_multiprocessor_count=114, launch__sm_count=60)
    assert gpu_note(nameless, gpu("H100")).endswith(
        "a GPU of compute capability 9.0, not on NVIDIA H100 80GB HBM3 of the same: 114 SMs, not 132"
    )
    assert gpu_note(nameless, gpu("H100 PCIe")) == ""


def test_the_report_s_own_gpu_is_what_it_is_read_by() -> None:
    a100, h200 = gpu("A100"), gpu("NVIDIA H200")
    assert reading_gpu(launch(), a100, h200) == h200
    assert reading_gpu(launch(), gpu("H100"), h200) == h200
    assert reading_gpu(launch(), None, h200) == h200
    assert reading_gpu(launch(), a100) is None, "132 SMs are not 108"
    assert lookup_of(launch(), reading_gpu(launch(), a100))("launch__sm_count") is None


def test_the_named_gpu_is_what_a_report_without_a_name_is_read_by() -> None:
    h100 = gpu("H100")
    assert reading_gpu(launch(None, None), h100) == h100
    assert reading_gpu(launch(None), h100, gpu("9.0")) == h100
    assert maker_name(launch(None), h100) == "NVIDIA H100 80GB HBM3"
    assert reading_gpu(launch("NVIDIA X1"), h100, gpu("9.0")) == h100 and maker_name(launch("NVIDIA X1"), h100) == "NVIDIA X1"


def test_compiled_code_is_read_for_the_named_gpu_and_only_one_that_cannot_run_it_is_said() -> None:
    a100 = gpu("A100")
    assert reading_gpu(COMPILED, a100, gpu("9.0")) == a100
    assert gpu_note(COMPILED, a100).startswith("compiled for compute capability 9.0, which does not run on NVIDIA A100-SXM4-80GB: ")
    older = replace(COMPILED, compute_capability="8.0")
    assert gpu_note(older, gpu("RTX 4090")) == "" and gpu_note(older, gpu("H200")) != ""


def test_a_gpu_that_was_looked_up_by_the_report_contradicts_nothing() -> None:
    own = resolve_gpu("NVIDIA H200", load_gpus(REPOSITORY))
    part = launch(device__attribute_multiprocessor_count=60)
    assert gpu_note(part, own, own) == "" and diagnose(part, (), own).gpu_note == ""


def test_a_comparison_notes_one_contradiction_of_both_reports_once() -> None:
    pair = (launch(), diagnose(launch(), (), gpu("A100")))
    (compared,) = compare((pair,), (pair,), ()).launches
    assert [line for line in compared.notes if "A100" in line] == [pair[1].gpu_note]


def test_a_situation_tells_the_contradiction_and_keeps_the_typed_gpu() -> None:
    diagnoses = (diagnose(launch(), (), gpu("A100")),) * 2
    situation = read_situation(load_vocabulary(REPOSITORY), gpu=gpu("A100"), gpu_source="--gpu", diagnoses=diagnoses)
    form = situation_json(situation)
    assert form["gpu"]["name"] == "NVIDIA A100-SXM4-80GB" and form["notes"] == [diagnoses[0].gpu_note]


def test_a_smaller_memory_bandwidth_of_the_typed_product_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said([H200_REPORT, "--gpu", "H100"], monkeypatch, capsys)
    assert text.startswith(
        "! the report was made on NVIDIA H200 of compute capability 9.0, not on NVIDIA H100 80GB HBM3 of the same: 4,800 GB/s"
    )
    assert "made on" not in said([H200_REPORT, "--gpu", "H200 NVL"], monkeypatch, capsys)


def test_typed_bytes_are_compared_with_the_peak_of_the_gpu_that_ran() -> None:
    ran = Profile("k", device="NVIDIA H200", compute_capability="9.0", attributes={FORM: "torch.profiler"})
    report = with_typed(Report("trace", "torch-trace", (ran,)), Typed(bytes=2.4e9, time_us=1000), REPOSITORY)
    ((profile, diagnosis),) = Warplore(REPOSITORY).diagnose(report, gpu("A100"))
    assert profile.value("timed__dram_pct_of_peak") == pytest.approx(50) and diagnosis.gpu_note


def test_context_reads_a_report_by_its_own_gpu_and_recommends_for_the_typed_one() -> None:
    situation = Warplore(REPOSITORY).situation(gpu="A100", ncu=H200_REPORT)
    assert situation.gpu == gpu("A100") and situation.gpu_source == "--gpu"
    assert [line for line in situation.notes if "made on" in line] == [situation.diagnoses[0].gpu_note]

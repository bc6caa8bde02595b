"""Two reports compared, what to collect next, pictures, and a good kernel's first answer."""

from __future__ import annotations

import builtins
import json
import shlex
from pathlib import Path

import pytest

from indexer.errors import InputError
from indexer.records import GuideRecord
from retriever.compare import Comparison, compare
from retriever.diagnosis import diagnose
from retriever.lookup import lookup_of
from retriever.movements import is_noise
from retriever.operations import operations
from retriever.pairing import pair_launches
from retriever.plan import name_filter, plan_for, plan_from_nothing
from retriever.plot import draw, draw_comparison
from retriever.quantities import quantity, ratio_text
from retriever.reports.kernel_names import base_name
from retriever.reports.profile import Metric, Profile
from retriever.reports.read import read_report
from retriever.roofline import roofline_of
from retriever.terminal_compare import time_lines
from tests.exports import write_export

REPORTS = Path(__file__).parent.parent / "kernel_wiki" / "reports"
TIME, CYCLES, CLOCK = "gpu__time_duration.sum", "gpc__cycles_elapsed.max", "gpc__cycles_elapsed.avg.per_second"
SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"


def made(id: str, metric: str, **fields) -> GuideRecord:
    base = {"title": "t", "summary": "s", "sources": [{"title": "x"}], "reviewed": "2026-11-29", "bottlenecks": [id], "bound": "b"}
    conditions = [{"metric": metric, "op": ">=", "value": 20, "unit": "%", "source": "test", "label": f"{id} share"}]
    signature = {"signatures": [{"all": conditions}], "severity": metric, "sections": ["SourceCounters"]}
    record = GuideRecord.model_validate(base | signature | fields)
    record._id = f"guide/{id}"
    return record


GUIDES = [
    made("waste", "waste__share", cures=("coalescing", "padding")),
    made("stall", "stall__share", cures=("async-copy",)),
    made("full-unit", "unit__busy", limit=True),
    made("well-optimized", "unit__busy", cures=("kernel-fusion",)),
]


def profile(kernel: str = "k", grid: tuple[int, int, int] = (8, 1, 1), fields: dict | None = None, **metrics: float) -> Profile:
    base = {TIME: 1000.0, CYCLES: 2000.0, CLOCK: 2e9, SM: 10.0}
    values = {name: Metric(value, "", "1:1") for name, value in (base | metrics).items()}
    return Profile(kernel=kernel, grid=grid, block=(256, 1, 1), metrics=values, **(fields or {}))


def diagnosed(*profiles: Profile):
    return tuple((p, diagnose(p, GUIDES)) for p in profiles)


def compared(old: Profile, new: Profile) -> Comparison:
    return compare(diagnosed(old), diagnosed(new), GUIDES)


def low(**metrics: float) -> dict[str, float]:
    return {"waste__share": 0.0, "stall__share": 0.0, "unit__busy": 0.0} | metrics


def fates(comparison: Comparison) -> dict[str, tuple[str, float | None, float | None]]:
    (launch,) = comparison.launches
    return {fate.id: (fate.outcome, fate.before, fate.after) for fate in launch.fates}


def test_launches_of_one_name_are_paired_by_grid_before_order():
    old = diagnosed(profile(grid=(8, 1, 1)), profile(grid=(9, 1, 1)), profile("only_old"))
    new = diagnosed(profile(grid=(9, 1, 1)), profile(grid=(8, 1, 1)))
    pairing = pair_launches(old, new)
    assert [(pair.before[0].grid, pair.after[0].grid) for pair in pairing.pairs] == [((8, 1, 1),) * 2, ((9, 1, 1),) * 2]
    assert [p.kernel for p in pairing.only_before] == ["only_old"]


def test_a_renamed_kernel_is_paired_only_when_each_side_has_one_name_left():
    one = pair_launches(diagnosed(profile("same"), profile("old")), diagnosed(profile("new"), profile("same")))
    assert [(p.before[0].kernel, p.after[0].kernel) for p in one.pairs] == [("same", "same"), ("old", "new")]
    two = pair_launches(diagnosed(profile("old")), diagnosed(profile("new"), profile("other")))
    assert two.pairs == () and [p.kernel for p in two.only_after] == ["new", "other"]


def test_bottlenecks_that_went_stayed_and_came_carry_both_severities():
    comparison = compared(profile(**low(waste__share=80, stall__share=50)), profile(**low(stall__share=30, unit__busy=70)))
    assert fates(comparison) == {
        "well-optimized": ("came", None, 70),
        "full-unit": ("came", None, 70),
        "stall": ("stayed", 50, 30),
        "waste": ("went", 80, None),
    }


def test_a_bottleneck_that_the_second_report_cannot_measure_is_undecided_and_not_gone():
    new = profile(**{name: value for name, value in low().items() if name != "waste__share"})
    comparison = compared(profile(**low(waste__share=80)), new)
    assert fates(comparison)["waste"] == ("undecided", 80, None)
    assert any("the second report lacks what decides waste" in note for note in comparison.launches[0].notes)


def test_what_a_cure_should_have_moved_and_did_not_is_named():
    (launch,) = compared(profile(**low(waste__share=80, stall__share=50)), profile(**low(waste__share=79, stall__share=5))).launches
    assert {e.bottleneck: e.outcome for e in launch.expectations} == {"waste": "unmoved", "stall": "left"}
    assert launch.next is not None and (launch.next.bottleneck, launch.next.cures) == ("waste", ("coalescing", "padding"))


def test_a_roof_is_not_expected_to_move_and_a_unit_at_its_limit_beside_a_fault_is():
    full, moved = made("dram-bandwidth", "unit__busy", limit=True), {"dram__bytes.sum": 1e9}
    guides = [*GUIDES[:2], made("waste", "waste__share", explains=("dram-bandwidth",)), full, GUIDES[3]]
    for waste, expected in ((0.0, []), (60.0, ["dram-bandwidth", "waste"])):
        pairs = [(p, diagnose(p, guides)) for p in (profile(**low(unit__busy=90, waste__share=waste), **moved),)]
        (launch,) = compare(tuple(pairs), tuple(pairs), guides).launches
        assert sorted(e.bottleneck for e in launch.expectations) == expected


def test_noise_is_not_a_movement_and_guides_metrics_come_first():
    old, new = low(waste__share=80, stall__share=50), low(waste__share=20.0, stall__share=51)
    (launch,) = compared(profile(**old, **{"smsp__inst_executed.sum": 100}), profile(**new, **{"smsp__inst_executed.sum": 400})).launches
    assert [move.label for move in launch.movements] == ["waste share", "instructions"]
    assert is_noise(100, 104, "inst") and is_noise(0.5, 1.9, "%") and not is_noise(100, 110, "inst")


@pytest.mark.parametrize(("clock", "lines"), [(2e9, 1), (1.5e9, 3)], ids=["equal clocks", "other clock"])
def test_unequal_clocks_are_said_and_cycles_given(clock, lines):
    (launch,) = compared(profile(**low()), profile(**low(), **{TIME: 500.0, CLOCK: clock, CYCLES: 1000.0})).launches
    text = time_lines(launch.times)
    assert len(text) == lines
    assert ("at equal SM clocks" in text[0]) == (lines == 1) and "2.00x as fast" in text[0] and "2.00x as fast" in text[-1]


def test_another_gpu_another_grid_and_other_work_are_said():
    old = profile(**low(), **{"smsp__inst_executed.sum": 100, "dram__bytes.sum": 100}, fields={"device": "NVIDIA A100"})
    new = profile(grid=(9, 1, 1), **low(), **{"smsp__inst_executed.sum": 50, "dram__bytes.sum": 101}, fields={"device": "NVIDIA H200"})
    notes = " ".join(compared(old, new).launches[0].notes)
    assert "different GPUs: NVIDIA A100, then NVIDIA H200" in notes
    assert "grid (8, 1, 1)" in notes and "instructions 100 inst, then 50 inst (0.5x)" in notes
    assert "bytes moved" not in notes


def test_the_operations_of_the_matrix_products_are_counted_as_their_sizes_say():
    for name in ("naive_gemm", "sgemm_register_tiled", "tensor_gemm_mma"):
        (kept,) = read_report(REPORTS / name / "raw.csv").profiles
        assert operations(lookup_of(kept)) == pytest.approx(2 * 4096**3, rel=0.01)


def test_a_kernel_near_its_limit_is_well_optimized_first_and_its_full_unit_the_roof():
    found = diagnose(profile(**low(unit__busy=90, stall__share=30)), GUIDES).bottlenecks
    assert [(b.id, b.is_roof) for b in found] == [("well-optimized", False), ("full-unit", True), ("stall", False)]


def test_a_fault_that_fills_the_unit_takes_the_name_well_optimized_away():
    guides = [*GUIDES[1:], made("waste", "waste__share", explains=("full-unit",))]
    found = diagnose(profile(**low(unit__busy=90, waste__share=60)), guides).bottlenecks
    assert [(b.id, b.because_of) for b in found] == [("waste", ""), ("full-unit", "waste")]


@pytest.mark.parametrize(
    ("kernel", "base"),
    [
        ("softmax", "softmax"),
        ("void ns::reduce<float, ns::Op<4>>(float *, int)", "reduce"),
        ("(anonymous namespace)::copy(const int*)", "copy"),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
    ],
)
def test_the_filter_takes_the_base_name_that_ncu_compares(kernel, base):
    assert base_name(kernel) == base and name_filter(kernel) == f"regex:^{base}$"


def test_a_plan_for_open_guides_asks_for_their_sections_and_exports():
    (launch,) = diagnosed(profile("void k<int>(int*)", unit__busy=1.0))
    plan = plan_for(*launch)
    words = shlex.split(plan.commands[0])
    assert plan.decides == ("stall", "waste") and plan.sections == ("SourceCounters",)
    assert words[words.index("--kernel-name") + 1] == "regex:^k$" and words[words.index("--section") + 1] == "SourceCounters"
    assert {"--launch-count", "--launch-skip", "--clock-control", "-o"} <= set(words)
    assert plan.commands[1].startswith("ncu --import report.ncu-rep --page raw --csv")
    assert any("NVreg_RestrictProfilingToAdminUsers=0" in line for line in plan.when_denied)


def test_a_decided_report_needs_no_command_and_no_report_the_full_set():
    (launch,) = diagnosed(profile(**low()))
    assert plan_for(*launch).commands == ()
    plan = plan_from_nothing(("gemm", "epilogue"))
    assert "--set full" in plan.commands[0] and "'regex:^gemm$'" in plan.commands[0] and plan.passes == 38
    assert "epilogue" not in plan.commands[0] and "2 kernels" in plan.remarks[0]


def test_a_plan_names_what_the_gpu_cannot_count():
    metrics = {name: value for name, value in low().items() if name != "waste__share"}
    (launch,) = diagnosed(profile(**metrics, fields={"unavailable": ("waste__share",)}))
    assert plan_for(*launch).remarks == ("waste stays open: this GPU has no waste__share",)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (33559552, "byte", "33.6 MB"),
        (1.98e9, "hz", "1.98 GHz"),
        (3.25e6, "ns", "3.25 ms"),
        (81.66, "%", "81.7 %"),
        (50.8e6, "sector", "50.8 M sector"),
    ],
)
def test_quantities_are_scaled_for_readers(value, unit, text):
    assert quantity(value, unit) == text


def test_a_ratio_of_signs_or_nothing_is_no_number():
    assert (ratio_text(-2, 4), ratio_text(0, 3), ratio_text(0, 0), ratio_text(4, 2)) == ("", "from zero", "1.00x", "0.5x")


def kept(name: str):
    path = REPORTS / name / "raw.csv"
    if not path.exists():
        pytest.skip(f"no report {path.name} of {name}")
    return diagnosed(*read_report(path).profiles)[0]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture_is_written_and_the_same_bytes_twice(tmp_path, ending):
    pytest.importorskip("matplotlib")
    files = [tmp_path / f"{n}.{ending}" for n in (1, 2)]
    for file in files:
        draw(file, kept("naive_gemm")[0], None)
    assert files[0].stat().st_size > 10_000 and files[0].read_bytes() == files[1].read_bytes()


def test_two_launches_are_drawn_side_by_side(tmp_path):
    pytest.importorskip("matplotlib")
    assert draw_comparison(tmp_path / "x.png", kept("naive_softmax")[0], kept("softmax_onepass")[0], (None, None)) == ()
    assert (tmp_path / "x.png").stat().st_size > 10_000


def test_a_report_without_numbers_to_draw_says_which_sections_have_them(tmp_path):
    with pytest.raises(InputError, match=r"nothing to draw; roofline: .*WarpStateStats.*MemoryWorkloadAnalysis_Tables"):
        draw(tmp_path / "x.png", profile(**low()), None)


def test_a_missing_matplotlib_names_the_extra(tmp_path, monkeypatch):
    launch, _ = kept("naive_gemm")
    real = builtins.__import__

    def absent(name, *rest, **more):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(InputError, match=r"pip install 'warplore\[plot\]'"):
        draw(tmp_path / "x.png", launch, None)


def test_a_picture_of_unknown_kind_is_refused(tmp_path):
    with pytest.raises(InputError, match=r'unknown kind of picture ".bmp"; one of .png, .svg, .pdf'):
        draw(tmp_path / "x.bmp", kept("naive_gemm")[0], None)


def test_the_ceilings_of_a_kept_report_are_those_of_the_data_sheet():
    roofline, _ = roofline_of(lookup_of(kept("naive_gemm")[0]))
    assert roofline.memory[0].value == pytest.approx(4.8e12, rel=0.01)
    assert roofline.compute[0].value == pytest.approx(67e12, rel=0.02)


def test_the_command_line_compares_plans_and_refuses_what_does_not_fit(tmp_path, monkeypatch, capsys):
    from retriever import cli

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["warplore", "diagnose", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    old, new = (str(write_export(tmp_path, name, "details.csv")) for name in ("naive_softmax", "softmax_onepass"))
    code, out, _ = call(old, "--vs", new, "--json")
    form = json.loads(out)
    assert code == 0 and form["schema"] == 1 and form["launches"][0]["time"]["speedup"] > 10
    assert "ncu --set full" in call("--plan")[1]
    assert json.loads(call(old, "--plan", "--json")[1])["plans"][0]["commands"]
    assert call()[0] == 2 and call(old, "--plan", "--vs", new)[0] == 2
    code, out, _ = call(old, "--vs", new, "--kernel-name", "naive=onepass")
    assert code == 0 and "naive_softmax -> softmax_onepass" in out


def test_a_stall_that_stands_alone_is_not_the_whole_of_a_warps_cycles():
    from retriever.plot_stalls import OTHER, stall_cycles
    from retriever.reports.stall_names import WARP_CYCLES, stall_metric

    alone = profile(**{stall_metric("long_scoreboard"): 27.0, WARP_CYCLES: 60.0})
    assert stall_cycles(lookup_of(alone)) == {"long_scoreboard": 27.0, OTHER: 33.0}

"""Diagnosis without counters: every input form, the occupancy arithmetic against ncu's, and weak evidence that stays below counters."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from indexer.errors import InputError
from indexer.gpus import Gpu, load_gpus, resolve_gpu
from retriever.case_work import case_work
from retriever.cli import app
from retriever.diagnosis import Diagnosis
from retriever.estimates import with_estimates
from retriever.occupancy import block_limits
from retriever.reports.derive import with_derived
from retriever.reports.kernel_names import readable
from retriever.reports.profile import Metric, Profile, Report
from retriever.reports.read import read_report
from retriever.reports.weak_form import is_weak
from retriever.service import Warplore
from retriever.signatures import HEADLINES
from retriever.typed_facts import Typed, with_typed
from retriever.weak_facts import for_gpu, limiter, weak_json, weak_lines

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data" / "without_counters"
CORE = Warplore(root=ROOT)
H200 = resolve_gpu("H200", load_gpus(ROOT))
FILES = sorted(path.name for path in DATA.iterdir() if path.name != "torch_table_cpu.txt")


def named(report: Report, name: str, capability: str | None = None) -> Profile:
    return next(p for p in report.profiles if name in p.kernel and capability in (None, p.compute_capability))


def answer(report: Report, gpu: Gpu | None = H200) -> tuple[Profile, Diagnosis]:
    """The first launch of a report, filled and diagnosed."""
    return CORE.diagnose(report, gpu)[0]


def found(diagnosis: Diagnosis) -> list[str]:
    return [bottleneck.id for bottleneck in diagnosis.bottlenecks]


def typed(**facts: object) -> Report:
    return with_typed(None, Typed(**facts), ROOT)  # type: ignore[arg-type]


# Each form


def test_ptxas_output_gives_each_kernel_for_each_target() -> None:
    report = read_report(DATA / "ptxas_two_targets.txt")
    assert [(p.kernel, p.compute_capability) for p in report.profiles] == [
        (name, capability) for capability in ("8.0", "9.0") for name in ("demo::heavy<256, float>", "indexed", "scale")
    ]
    heavy = named(report, "heavy", "9.0")
    values = {name: metric.value for name, metric in heavy.metrics.items()}
    assert values == {
        "launch__registers_per_thread": 32, "launch__shared_mem_per_block_static": 1024, "ptxas__barriers": 1,
        "ptxas__stack_bytes": 2368, "ptxas__spill_store_bytes": 3780, "ptxas__spill_load_bytes": 5636,
    }  # fmt: skip
    assert heavy.metrics["ptxas__spill_store_bytes"].location == "24:1"
    assert named(report, "scale", "8.0").value("ptxas__constant_bytes") == 376


def test_demangled_ptxas_output_reads_the_same() -> None:
    plain = read_report(DATA / "ptxas_demangled.txt")
    heavy = named(plain, "heavy")
    assert heavy.kernel == "demo::heavy<256, float>"
    assert heavy.value("ptxas__spill_load_bytes") == 5636


def test_a_spill_of_a_called_function_is_not_the_kernel_s() -> None:
    log = [
        "ptxas info    : Compiling entry function '_Z5scalePf' for 'sm_90'",
        "ptxas info    : Function properties for _Z5scalePf",
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
        "ptxas info    : Used 10 registers, used 0 barriers",
        "ptxas info    : Function properties for _Z6helperf",
        "    64 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads",
        "",
    ]
    report = read_report("\n".join(log))
    assert report.profiles[0].value("ptxas__spill_store_bytes") == 0
    assert "helper is called by kernels and spills registers of its own" in report.notes[0]


def test_old_ptxas_lines_without_barriers_and_with_split_shared_memory_are_read() -> None:
    log = (
        "[ 12%] Building\nptxas info    : Compiling entry function '_Z5scalePf' for 'sm_70'\n"
        "ptxas info    : Used 40 registers, 48+0 bytes smem, 360 bytes cmem[0], 8 bytes cmem[2]\n"
    )
    profile = read_report(log).profiles[0]
    assert (profile.kernel, profile.compute_capability) == ("scale", "7.0")
    assert profile.value("launch__shared_mem_per_block_static") == 48
    assert profile.value("ptxas__spill_store_bytes") is None


def test_the_advisory_on_serialised_wgmma_names_its_bottleneck_and_keeps_its_words() -> None:
    profile, diagnosis = answer(read_report(DATA / "ptxas_wgmma.txt"))
    assert found(diagnosis) == ["wgmma-serialization"]
    assert diagnosis.bottlenecks[0].weak
    assert any(line.startswith("C7511: Potential Performance Loss: wgmma.mma_async") for line in weak_lines(profile, H200))


def test_cuobjdump_counts_the_reserved_kilobyte_from_sm_90_on_and_it_is_taken_off() -> None:
    report = read_report(DATA / "resource_usage.txt")
    assert [named(report, "heavy", cc).value("launch__shared_mem_per_block_static") for cc in ("8.0", "9.0")] == [1024, 1024]
    assert named(report, "scale", "9.0").value("launch__shared_mem_per_block_static") == 0
    assert named(report, "indexed", "9.0").value("ptxas__stack_bytes") == 128
    assert report.notes == ("demo::heavy<256, float>, indexed: a stack, of spilled registers or of arrays; ptxas -v tells which",)


@pytest.mark.parametrize("file", ["row_sum.json", "kernel_metadata.txt"])
def test_triton_metadata_gives_block_and_shared_memory(file: str) -> None:
    profile = read_report(DATA / file).profiles[0]
    assert (profile.kernel, profile.block, profile.compute_capability) == ("row_sum", (256, 1, 1), "9.0")
    assert profile.value("launch__shared_mem_per_block_dynamic") == 32
    assert profile.value("launch__registers_per_thread") is None


def test_a_printed_triton_kernel_with_spills_shows_them() -> None:
    _, diagnosis = answer(read_report(DATA / "kernel_metadata_dict.txt"))
    assert found(diagnosis) == ["register-spill", "low-occupancy-registers"]


def test_printed_metadata_is_never_executed() -> None:
    text = "{'num_warps': __import__('os').system('exit 1'), 'num_stages': 1, 'shared': 0}\n"
    profile = read_report(text).profiles[0]
    assert profile.block is None


def test_a_torch_table_keeps_kernels_and_leaves_operators_annotations_and_copies() -> None:
    report = read_report(DATA / "torch_table_cuda.txt")
    assert [(p.kernel[:9], p.value("trace__launches"), p.value("gpu__time_duration.sum")) for p in report.profiles] == [
        ("sm90_xmma", 10, 500_000),
        ("void at::", 400, 3_000),
    ]
    assert report.notes[0].startswith("2 kernels and shapes, 6.2 ms of kernel time; look first at sm90_xmma")


def test_a_torch_table_without_the_gpu_says_how_to_profile_it() -> None:
    with pytest.raises(InputError, match=r"ProfilerActivity\.CUDA"):
        read_report(DATA / "torch_table_cpu.txt")


def test_a_torch_trace_gives_shapes_resources_and_idle_time() -> None:
    report = read_report(DATA / "torch_trace.json")
    small = named(report, "add_kernel")
    assert (small.grid, small.block, small.device, small.compute_capability) == ((32, 1, 1), (256, 1, 1), "NVIDIA H200", "9.0")
    assert small.value("trace__idle_before_ns") == pytest.approx(8_000)
    assert small.value("trace__share_of_kernel_time_pct") == pytest.approx(100 * 8 / 48)
    assert named(report, "big_kernel").value("launch__registers_per_thread") == 255


def test_a_trace_without_kernels_is_refused() -> None:
    with pytest.raises(InputError, match="no event of category kernel"):
        read_report('{"traceEvents": [\n{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1}]}')


@pytest.mark.parametrize("file", ["nsys_kern_sum.csv", "nsys_kern_sum_2021.csv", "nsys_stats.txt"])
def test_kernel_summaries_of_nsys_read_alike_in_every_layout(file: str) -> None:
    report = read_report(DATA / file)
    assert [(p.kernel, p.value("trace__launches"), p.value("trace__total_ns")) for p in report.profiles] == [
        ("void gemm<float, (int)128>", 4, 8_000_000),
        ("bias_relu", 1000, 2_000_000),
    ]
    assert report.profiles[1].value("gpu__time_duration.sum") == (2_000 if "2021" in file else 1_984)


@pytest.mark.parametrize("file", ["nsys_gpu_trace.csv", "nsys_gpu_trace.txt", "nsys_gpu_trace_raw_units.csv"])
def test_gpu_traces_of_nsys_give_shapes_resources_and_gaps(file: str) -> None:
    report = read_report(DATA / file)
    gemm, relu = report.profiles
    assert (gemm.grid, gemm.block, gemm.device, gemm.value("launch__registers_per_thread")) == (
        (64, 64, 1), (256, 1, 1), "NVIDIA H200", 128,
    )  # fmt: skip
    assert gemm.value("launch__shared_mem_per_block_static") == (50_176 if "raw" in file else 49_000)
    assert any("approximate" in note for note in report.notes) is ("raw" not in file)
    assert relu.value("trace__idle_before_ns") == 10_000
    assert relu.value("trace__launches") == 3


def test_a_kernel_that_the_gpu_waits_for_longer_than_it_runs_is_launch_overhead() -> None:
    report = read_report(DATA / "nsys_gpu_trace.csv")
    slower = dataclasses.replace(
        report.profiles[1], metrics={**report.profiles[1].metrics, "gpu__time_duration.sum": Metric(9e3, "ns", "")}
    )
    _, diagnosis = answer(dataclasses.replace(report, profiles=(slower,)))
    assert "launch-overhead" in found(diagnosis)
    overhead = next(b for b in diagnosis.bottlenecks if b.id == "launch-overhead")
    assert overhead.severity == pytest.approx(100 * 10 / 19, abs=0.1)


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_ZN4demo5heavyILi256EfEEvPKT0_PS1_i", "demo::heavy"),
        ("_Z5scalePfPKffi", "scale"),
        ("_ZN12_GLOBAL__N_16kernelEPf", "(anonymous)::kernel"),
        ("_ZL6hiddenPf", "hidden"),
        ("plain_c", "plain_c"),
        ("void ns::k<4>(float*)", "void ns::k<4>(float*)"),
    ],
)
def test_a_mangled_name_reads_as_its_base_name(mangled: str, name: str) -> None:
    assert readable(mangled) == name


# Occupancy


def _measured() -> list[tuple[str, Profile]]:
    paths = sorted((ROOT / "kernel_wiki" / "reports").glob("*/raw.csv"))
    return [(path.parent.name, profile) for path in paths for profile in read_report(path).profiles]


def test_block_limits_and_occupancy_are_those_that_ncu_printed_on_the_h200() -> None:
    checked = 0
    for name, profile in _measured():
        value = profile.value
        occupancy = value("sm__maximum_warps_per_active_cycle_pct")
        needed = [value("launch__registers_per_thread"), value("launch__occupancy_limit_registers"), value("launch__block_size"), occupancy]
        if any(part is None for part in needed) or (value("launch__cluster_size") or 1) > 1:
            continue
        shared = sum(value(f"launch__shared_mem_per_block_{kind}") or 0 for kind in ("static", "dynamic"))
        threads = int(value("launch__block_size") or 0)
        limits = block_limits(H200.capability, H200.sm, threads, int(value("launch__registers_per_thread") or 0), int(shared))
        assert limits.registers == value("launch__occupancy_limit_registers"), name
        assert limits.warps == value("launch__occupancy_limit_warps"), name
        blocks = min(limits.warps, limits.blocks, limits.registers or 0, limits.shared or 0)
        assert 100 * blocks * -(-threads // 32) / 64 == pytest.approx(occupancy, abs=0.01), name
        checked += 1
    assert checked >= 20


@pytest.mark.parametrize(
    ("sm", "threads", "registers", "shared", "limits"),
    [
        (90, 1024, 65, 0, (2, 0)),  # 72 registers x 32 warps pass the register file: the block does not fit
        (90, 96, 168, 0, (21, 4)),  # 12 warps by 168 registers, three to a block
        (90, 256, 32, 227 * 1024, (8, 8)),
        (90, 256, 0, 0, (8, 32)),
    ],
)
def test_registers_are_given_by_warp_and_sub_partition(sm: int, threads: int, registers: int, shared: int, limits: tuple) -> None:
    found_limits = block_limits(H200.capability, sm, threads, registers, shared)
    assert (found_limits.warps, found_limits.registers) == limits
    assert found_limits.shared == (1 if shared else 228)


def test_shared_memory_before_compute_capability_8_has_no_reserve_and_a_coarser_step() -> None:
    t4 = resolve_gpu("T4", load_gpus(ROOT))
    assert block_limits(t4.capability, t4.sm, 128, 32, 4096).shared == 16
    assert block_limits(H200.capability, H200.sm, 128, 32, 4096).shared == 233472 // (4096 + 1024)


def test_the_limiter_names_every_resource_that_ties() -> None:
    profile, diagnosis = answer(typed(registers=168, block="384", grid="200", smem=200_000, time_us=100, flops=3e10, dtype="bf16"))
    assert limiter(profile) == "registers and shared memory"
    assert {"low-occupancy-registers", "low-occupancy-shared", "tail-effect"} <= set(found(diagnosis))
    assert all(bottleneck.weak for bottleneck in diagnosis.bottlenecks)


def test_registers_alone_bound_the_occupancy() -> None:
    profile, diagnosis = answer(typed(registers=255))
    assert profile.value("computed__occupancy_by_registers_pct") == 12.5
    assert found(diagnosis) == ["low-occupancy-registers"]
    assert diagnosis.bottlenecks[0].severity == 0  # without a time nobody knows what it costs


# Time, bytes, operations


def test_bytes_over_time_near_the_bandwidth_are_a_roof() -> None:
    _, diagnosis = answer(typed(case="softmax/M65536-N1024-bf16", time_us=66, grid="65536", block="128", registers=32))
    assert found(diagnosis) == ["well-optimized", "dram-bandwidth"]
    assert diagnosis.bottlenecks[1].is_roof
    assert diagnosis.bottlenecks[1].severity == pytest.approx(100 * 2**28 / 66e-6 / 4800e9, rel=1e-3)


def test_operations_over_time_name_the_unit_of_their_type() -> None:
    for dtype, expected in (("bf16", "tensor-bound"), ("fp32", "compute-bound-fma"), ("fp64", "fp64-bound")):
        flops = 0.7 * (H200.product.peaks_tflops[dtype] if H200.product else 0) * 1e12 * 1e-3
        assert found(answer(typed(time_us=1000, flops=flops, dtype=dtype, bytes=1e8))[1]) == [expected]


def test_bytes_that_fit_the_l2_or_pass_the_peak_are_no_dram_bandwidth() -> None:
    assert found(answer(typed(time_us=10, bytes=4e7))[1]) == []
    profile, diagnosis = answer(typed(time_us=10, bytes=1e8))
    assert found(diagnosis) == []
    assert "208 % of the DRAM peak (the rest came from a cache)" in weak_lines(profile, H200)[0]


def test_a_tiny_time_is_launch_overhead_and_a_few_blocks_are_a_small_grid() -> None:
    _, diagnosis = answer(typed(time_us=2.1, grid="4", block="256"))
    assert found(diagnosis) == ["launch-overhead", "small-grid"]


def test_the_work_of_a_case_is_what_its_contract_computes() -> None:
    work = case_work(ROOT, "softmax/M65536-N1024-bf16")
    assert work.dtype == "bf16"
    assert work.bytes_moved == pytest.approx(2 * 65536 * 1024 * 2, rel=1e-3)
    assert work.flops == pytest.approx(4 * 65536 * 1024, rel=2e-3)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"block": "0x3"}, '--block "0x3": not one to three sizes; write 256, 32x8 or 32,8,1'),
        ({"time_us": 0.0}, "--time-us 0: not a possible value"),
        ({"bytes": -1.0}, "--bytes -1: not a possible value"),
        ({"flops": 1.0, "dtype": "half"}, '--dtype "half": no peak goes by that name; one of fp32'),
        ({"case": "softmax/M1-N1"}, '--case "softmax/M1-N1": no validation record times it; it has softmax/'),
        ({"ptxas": str(DATA / "nsys_stats.txt")}, "it takes the output of ptxas -v"),
    ],
)
def test_a_typed_value_that_cannot_be_is_refused(facts: dict, message: str) -> None:
    with pytest.raises(InputError) as caught:
        typed(**facts)
    assert message in str(caught.value)


def test_typed_values_for_several_kernels_ask_which_one() -> None:
    report = read_report(DATA / "ptxas_two_targets.txt")
    with pytest.raises(InputError, match="has 3: demo::heavy<256, float>, indexed, scale; choose with --kernel-name"):
        with_typed(report, Typed(block="256"), ROOT)
    chosen = with_typed(report, Typed(block="256"), ROOT, "scale")
    assert [p.block for p in chosen.profiles if p.kernel == "scale"] == [(256, 1, 1)] * 2


def test_with_a_gpu_only_its_own_compilations_are_left() -> None:
    report = for_gpu(read_report(DATA / "ptxas_two_targets.txt"), H200)
    assert {p.compute_capability for p in report.profiles} == {"9.0"}
    assert report.notes == ("3 compilations for other architectures than 9.0 left out",)


# Weak evidence beside counters


def counted() -> Report:
    return read_report(ROOT / "kernel_wiki" / "reports" / "sgemm_register_tiled" / "raw.csv")


def spilling(kernel: str, registers: int) -> Report:
    profile = Profile(kernel, compute_capability="9.0", attributes={"input__form": "ptxas -v"}, metrics={
        "launch__registers_per_thread": Metric(registers, "register/thread", "1:1"),
        "ptxas__spill_store_bytes": Metric(64, "byte", "1:1"),
        "ptxas__spill_load_bytes": Metric(64, "byte", "1:1"),
    })  # fmt: skip
    return Report("log", "ptxas", (profile,))


def test_counters_that_deny_a_bottleneck_are_not_contradicted_by_resources_or_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    report = counted()
    before = CORE.diagnose(report)[0][1]
    registers = int(report.profiles[0].value("launch__registers_per_thread") or 0)
    log = spilling(report.profiles[0].kernel, registers)
    monkeypatch.setattr("retriever.typed_facts._resources", lambda _: log)
    joined = with_typed(report, Typed(ptxas="log", time_us=1.0, bytes=4.7e6, smem=0), ROOT)
    assert joined.profiles[0].value("ptxas__spill_store_bytes") == 64
    after = CORE.diagnose(joined)[0][1]
    assert [(b.id, b.severity, b.weak) for b in after.bottlenecks] == [(b.id, b.severity, b.weak) for b in before.bottlenecks]


def test_resources_answer_where_the_counters_were_not_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = counted().profiles[0]
    basic = {name: m for name, m in whole.metrics.items() if name in HEADLINES or name.startswith("launch__")}
    report = Report("basic", "csv-raw", (dataclasses.replace(whole, metrics=basic, sections=("SpeedOfLight", "LaunchStats")),))
    log = spilling(whole.kernel, int(whole.value("launch__registers_per_thread") or 0))
    monkeypatch.setattr("retriever.typed_facts._resources", lambda _: log)
    diagnosis = CORE.diagnose(with_typed(report, Typed(ptxas="log"), ROOT))[0][1]
    assert {b.id: b.weak for b in diagnosis.bottlenecks}["register-spill"] is True
    assert {b.id for b in CORE.diagnose(report)[0][1].bottlenecks if b.weak} == set()


def test_a_log_of_another_kernel_is_not_joined() -> None:
    joined = with_typed(counted(), Typed(ptxas=str(DATA / "ptxas_wgmma.txt")), ROOT)
    assert "ptxas__wgmma_serialized" not in joined.profiles[0].metrics
    assert any("no kernel of that name" in note for note in joined.notes)


@pytest.mark.parametrize("name", [name for name, _ in _measured()][:12])
def test_a_report_with_counters_gains_nothing_computed(name: str) -> None:
    for profile in read_report(ROOT / "kernel_wiki" / "reports" / name / "raw.csv").profiles:
        assert with_estimates(profile, H200) is profile
        assert not any(bottleneck.weak for bottleneck in answer(Report("r", "csv-raw", (profile,)))[1].bottlenecks)


@pytest.mark.parametrize("file", FILES)
def test_every_form_is_marked_weak_and_leaves_latency_conflicts_and_coalescing_open(file: str) -> None:
    for profile, diagnosis in CORE.diagnose(read_report(DATA / file), H200):
        assert is_weak(profile)
        assert all(bottleneck.weak for bottleneck in diagnosis.bottlenecks)
        assert {"shared-bank-conflict", "uncoalesced-access"} <= {item.bottleneck for item in diagnosis.missing}
        assert "--section" in diagnosis.collect_next
        assert "no-usable-data" not in found(diagnosis)
        json.dumps(weak_json(profile, H200), allow_nan=False)


def test_denied_counters_point_to_what_can_be_read_instead() -> None:
    denied = (DATA.parent / "reports" / "no_permission.txt").read_text()
    with pytest.raises(InputError, match="warplore diagnose also reads ptxas -v"):
        read_report(denied)
    report = read_report(denied + (DATA / "ptxas_wgmma.txt").read_text())
    assert report.profiles[0].kernel == "serialized"
    assert report.notes[0].startswith("line 2: the counters were denied (ERR_NVGPUCTRPERM)")


def test_the_command_prints_and_writes_the_mark() -> None:
    options = ["diagnose", str(DATA / "ptxas_two_targets.txt"), "--gpu", "H200", "--kernel-name", "heavy"]
    shown = CliRunner().invoke(app, [*options, "--json"])
    form = json.loads(shown.stdout)
    assert [(b["id"], b["weak"]) for b in form["kernels"][0]["bottlenecks"]] == [("register-spill", True)]
    assert form["kernels"][0]["basis"] == "from resources and time, no counters"
    assert form["layout"] == "ptxas"


def test_typed_values_alone_are_enough_for_the_command() -> None:
    options = ["diagnose", "--gpu", "H200", "--time-us", "66", "--bytes", "268435456", "--kernel-name", "mine", "--json"]
    form = json.loads(CliRunner().invoke(app, options).stdout)
    assert form["kernels"][0]["name"] == "mine"
    assert [b["id"] for b in form["kernels"][0]["bottlenecks"]] == ["well-optimized", "dram-bandwidth"]


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(file=st.sampled_from(FILES), share=st.floats(0, 1), noise=st.sampled_from(["", "\x00", ",,,", '"', "{", "  1  2"]))
def test_a_cut_or_dirtied_input_is_read_or_refused_but_never_crashes(file: str, share: float, noise: str) -> None:
    text = (DATA / file).read_text()
    cut = text[: int(share * len(text))] + noise + "\n"
    whole = {(p.kernel, p.compute_capability): p for p in read_report(text + "\n").profiles}
    try:
        report = read_report(cut)
    except InputError:
        return
    for profile in map(with_derived, report.profiles):
        known = whole.get((profile.kernel, profile.compute_capability))
        fixed = ("ptxas__spill_store_bytes", "launch__registers_per_thread") if known and "nsys" not in file else ()
        for name in fixed:
            assert profile.value(name) in (None, known.value(name) if known else None)

"""What a careful user found wrong in `warplore diagnose`: each case once, with the answer it must have."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from indexer.errors import InputError
from indexer.gpus import load_gpus
from retriever.estimates import ABOVE_PEAK, with_estimates
from retriever.inputs import find_gpu
from retriever.reports.derive import with_derived
from retriever.reports.profile import Metric, Profile
from retriever.reports.read import read_report
from retriever.service import Warplore
from retriever.terminal_compare import _faster
from retriever.typed_facts import Typed, with_typed
from retriever.weak_facts import facts, weak_lines
from tests.corpora import REPOSITORY
from tests.exports import export

DRAM = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
GRID = "launch__grid_size"


@pytest.fixture(scope="module")
def core() -> Warplore:
    return Warplore(REPOSITORY)


def answers(core: Warplore, text: str) -> list[set[str]]:
    return [{each.id for each in diagnosis.bottlenecks} for _, diagnosis in core.diagnose(read_report(text))]


def german(text: str) -> str:
    """The table's numbers with decimal commas and dot groups."""
    lines = []
    for line in text.splitlines():
        head, gap, last = line.rpartition(" ")
        is_number = gap and last[:1].isdigit() and set(last) <= set("0123456789.,")
        lines.append(f"{head} {last.translate(str.maketrans('.,', ',.'))}" if is_number else line)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("first", "second"), [("good_axpy", "fma_chain"), ("fma_chain", "good_axpy")])
def test_a_second_report_of_another_locale_names_no_other_bottleneck(core: Warplore, first: str, second: str) -> None:
    whole, other = export(first, "details.txt"), export(second, "details.txt")
    alone = answers(core, whole + other)
    mixed = answers(core, whole + german(other))
    assert mixed[0] == alone[0] and mixed[1] <= alone[1]


def test_a_count_that_cannot_be_is_left_out_and_said() -> None:
    kernel = "  scale(float*, int) (8448, 1, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 8.6\n"
    table = "    Section: GPU Speed Of Light Throughput\nDRAM Throughput % 42.51\nL2 Cache Throughput % 12.34\n"
    report = read_report(f"{kernel}{table}    Section: Launch Statistics\nGrid Size   8.448\nBlock Size   128\n")
    assert GRID not in report.profiles[0].metrics and report.profiles[0].value("launch__block_size") == 128
    assert any("launch__grid_size of 8.448 cannot be" in note for note in report.notes) or report.profiles[0].value(GRID) == 8448


@pytest.mark.parametrize("form", ["raw.csv", "details.csv"])
def test_a_csv_that_lost_its_quotes_is_refused_with_the_reason(form: str) -> None:
    text = export("naive_transpose", form).replace('"', "")
    with pytest.raises(InputError, match=r"quotes were lost and no cell can be told"):
        read_report(text)


def test_a_comma_behind_the_last_cell_does_no_harm() -> None:
    rows = export("good_axpy", "raw.csv").splitlines()
    (profile,) = read_report("".join(f"{row},\n" for row in rows)).profiles
    assert profile.value(DRAM) == read_report("\n".join(rows) + "\n").profiles[0].value(DRAM)


PREFIXES = {"indented": "    ", "quoted": "> ", "logged": "2026-05-01 12:00:00,123 - INFO - ", "numbered": "{number}: "}


@pytest.mark.parametrize("form", ["raw.csv", "details.csv"])
@pytest.mark.parametrize("prefix", PREFIXES)
def test_csv_rows_are_read_behind_what_a_paste_puts_before_them(form: str, prefix: str) -> None:
    text = export("good_axpy", form)
    lines = [PREFIXES[prefix].format(number=number) + line for number, line in enumerate(text.splitlines(), 1)]
    assert dict(read_report("\n".join(lines) + "\n").profiles[0].metrics) == dict(read_report(text).profiles[0].metrics)


@pytest.mark.parametrize("prefix", ["+", "L{number}: "])
def test_lines_of_a_patch_and_lines_with_a_letter_before_their_number_are_read(prefix: str) -> None:
    text = export("good_axpy", "details.txt")
    lines = [prefix.format(number=number) + line for number, line in enumerate(text.splitlines(), 1)]
    assert set(read_report("\n".join(lines) + "\n").profiles[0].metrics) == set(read_report(text).profiles[0].metrics)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_its_mark_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "report.txt"
    path.write_bytes(export("good_axpy", "details.txt").replace("\n", "\r\n").encode(encoding))
    assert read_report(str(path)).profiles[0].kernel == "good_axpy"


def test_a_rule_that_mentions_the_source_page_is_none() -> None:
    cut = "scale(float*) (1, 1, 1)x(32, 1, 1), Context 1, Stream 7, Device 0, CC 9.0\nCheck the Warp Stall Sampling (All Samples) table\n"
    try:
        read_report(cut)
    except InputError as error:
        assert "a source page" not in str(error)


NSYS = (
    " Time (%)  Total Time (ns)  Instances  Avg (ns)  Med (ns)  Name\n"
    " --------  ---------------  ---------  --------  --------  ------------\n"
    "    100.0            64000          1   64000.0   64000.0  scale(float*)\n\n"
)


@pytest.mark.parametrize(
    ("above", "heading"),
    [(0, "    Section: GPU Speed Of Light Throughput\n"), (0, "GPU Speed Of Light Throughput\n"), (60, "GPU Speed Of Light Throughput\n")],
)
def test_counters_below_a_table_of_nsys_are_read_and_the_table_is_said(above: int, heading: str) -> None:
    report = read_report("words\n" * above + NSYS + heading + "Memory Throughput % 42.50\nDRAM Throughput % 42.50\n")
    assert (report.layout, report.profiles[0].value(DRAM)) == ("console", 42.5)
    assert "nsys output, which is not used beside counters" in report.notes[-1]


def test_a_table_of_nsys_alone_is_still_read() -> None:
    assert read_report(NSYS).layout == "nsys"


def test_copies_in_a_summary_are_no_kernels() -> None:
    copies = "     50.0            64000          1   64000.0   64000.0  [CUDA memcpy HtoD]\n"
    report = read_report(NSYS.rstrip("\n") + "\n" + copies)
    assert [(profile.kernel, profile.value("trace__share_of_kernel_time_pct")) for profile in report.profiles] == [("scale", 100)]


@pytest.mark.parametrize("level", ["L1TEX", "L2", "DRAM"])
def test_bytes_used_of_a_sector_are_read_at_every_level_that_a_rule_names(level: str) -> None:
    text = (
        "    Section: Memory Workload Analysis Tables\n"
        f"    OPT   Est. Speedup: 50%\n          The memory access pattern for global loads from {level} might not be optimal. On average, "
        "only 4.9 of the 32\n          bytes transmitted per sector are utilized by each thread.\n"
    )
    (profile,) = read_report(text).profiles
    assert profile.value("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio") == 4.9


@pytest.mark.parametrize("capability", ["1)", "n/a", "0"])
def test_a_compute_capability_that_is_none_never_crashes(core: Warplore, capability: str) -> None:
    profile = Profile("k", compute_capability=capability, metrics={DRAM: Metric(50.0, "%", "1:1")})
    report = read_report(export("good_axpy", "details.txt"))
    assert core.diagnose(replace(report, profiles=(profile,)))[0][1].bottlenecks


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (Typed(time_us=-5), "--time-us -5: not a possible value"),
        (Typed(time_us=1e300), "not a possible value"),
        (Typed(time_us=1e-9), "not a possible value"),
        (Typed(registers=300), "--registers 300: not a possible value"),
        (Typed(block="4096"), "4,096 threads; a block has 1,024 at most"),
        (Typed(grid="1x70000"), "y and z 65,535"),
        (Typed(grid="32x"), "not one to three sizes"),
    ],
)
def test_typed_values_that_no_launch_can_have_are_refused(typed: Typed, message: str) -> None:
    with pytest.raises(InputError, match=message):
        with_typed(None, typed, REPOSITORY)


@pytest.mark.parametrize("text", ["256", "32x8", "(32, 8, 1)", "32,8,1", "32 8"])
def test_sizes_are_taken_as_people_write_them(text: str) -> None:
    assert with_typed(None, Typed(block=text), REPOSITORY).profiles[0].block[0] in (32, 256)


def test_operations_beyond_the_peak_name_no_unit_and_say_what_to_check(core: Warplore) -> None:
    gpu = find_gpu("H200", load_gpus(REPOSITORY))
    report = with_typed(None, Typed(time_us=41, flops=1e15, dtype="bf16"), REPOSITORY)
    filled = with_estimates(report.profiles[0], gpu)
    assert filled.value(ABOVE_PEAK) and filled.value("timed__tensor_pct_of_peak") is None
    assert "which cannot be: check --flops" in "; ".join(facts(filled))
    assert "tensor-bound" not in {each.id for _, diagnosis in core.diagnose(report, gpu) for each in diagnosis.bottlenecks}


def test_shared_memory_that_no_block_can_have_is_said() -> None:
    gpu = find_gpu("H200", load_gpus(REPOSITORY))
    report = with_typed(None, Typed(smem=10**8, block="256", registers=32), REPOSITORY)
    assert any("cannot launch" in line for line in weak_lines(with_estimates(report.profiles[0], gpu), gpu))


def test_a_ratio_of_one_is_not_called_slower() -> None:
    assert _faster(0.9999) == "1.00x as fast" and _faster(0.99) == "1.01x slower"


def test_a_spreadsheet_s_semicolons_read_the_same() -> None:
    text, out = export("good_axpy", "details.csv"), io.StringIO()
    csv.writer(out, delimiter=";").writerows(csv.reader(io.StringIO(text)))
    assert dict(read_report(out.getvalue()).profiles[0].metrics).keys() == dict(read_report(text).profiles[0].metrics).keys()


def table(waves: str, limit: int, grid: int) -> str:
    return (
        f"  scale(float*, int) ({grid}, 1, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 8.0\n    Section: Launch Statistics\n"
        f"Waves Per SM   {waves}\n    Section: Occupancy\nBlock Limit SM block 32\nBlock Limit Registers block {limit}\n"
        "Block Limit Shared Mem block 16\nBlock Limit Warps block 16\n"
    )


@pytest.mark.parametrize(
    ("waves", "limit", "grid", "sms"), [("2.37", 2, 512, 108), ("21.33", 12, 1024, 4), ("0.03", 16, 64, None), ("303.41", 6, 65536, 36)]
)
def test_waves_and_block_limits_give_the_sms_where_the_digits_leave_no_choice(waves: str, limit: int, grid: int, sms: int | None) -> None:
    (profile,) = read_report(table(waves, limit, grid)).profiles
    assert with_derived(profile).value("launch__sm_count") == sms


@pytest.mark.parametrize("name", ["good_axpy", "register_spill", "small_grid", "tail_effect", "naive_gemm"])
def test_the_sms_that_follow_are_those_of_the_gpu(name: str) -> None:
    (profile,) = read_report(export(name, "details.txt")).profiles
    without = {key: metric for key, metric in profile.metrics.items() if key != "launch__sm_count"}
    assert with_derived(replace(profile, metrics=without)).value("launch__sm_count") in (None, 132)


def test_the_error_that_stopped_the_profiler_comes_before_what_it_led_to() -> None:
    text = "==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer --list-chips option.\nok\n"
    with pytest.raises(InputError, match="this ncu does not know the GPU"):
        read_report(f"==PROF== Connected to process 1 (/a)\n{text}==WARNING== No kernels were profiled.\n")

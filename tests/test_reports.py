"""Nsight Compute reports of every layout and era, whole, cut and damaged."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import InputError
from retriever.reports.derive import DERIVED, derived_metrics, with_derived
from retriever.reports.names import LABELS, SECTION_IDS, TELLTALES, metric_name
from retriever.reports.profile import Metric, Profile, Report
from retriever.reports.read import LAYOUTS, read_report
from retriever.reports.units import base_unit, number_style, scaled

DATA = Path(__file__).parent / "data" / "reports"
DURATION = "gpu__time_duration.sum"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
DRAM = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
WHOLE = sorted(path.name for path in DATA.iterdir() if path.name != "no_permission.txt")
POINT_DECIMALS = [name for name in WHOLE if name != "details_comma.csv"]
AGAIN = "ncu --set full --csv --page raw --log-file report.csv ./app"


def read(name: str) -> Report:
    return read_report(DATA / name, name)


def only(name: str) -> Profile:
    (profile,) = read(name).profiles
    return profile


def message(path_or_text: str | Path, name: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_report(path_or_text, name)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("raw_2025.csv", "csv-raw"),
        ("raw_2021.csv", "csv-raw"),
        ("details_2025.csv", "csv-details"),
        ("details_summary.csv", "csv-details"),
        ("console_2025.txt", "console"),
        ("console_2022.txt", "console"),
        ("console_2021.txt", "console-legacy"),
        ("console_2020.txt", "console-legacy"),
        ("console_pasted.txt", "console"),
    ],
)
def test_the_layout_is_told_from_the_text(name: str, layout: str) -> None:
    assert read(name).layout == layout
    assert layout in LAYOUTS


def test_raw_page_keeps_launches_apart_below_program_output_and_profiler_lines() -> None:
    first, second = read("raw_2025.csv").profiles
    assert (first.kernel, first.launch_id) == ("void scale_rows<float, 4>", "0")
    assert first.signature == "void scale_rows<float, 4>(float const*, float*, int)"
    assert (second.kernel, second.launch_id) == ('void tag<"x">', "1")
    assert (first.grid, first.block) == ((4096, 1, 1), (256, 1, 1))
    assert (first.device, first.compute_capability) == ("NVIDIA H200", "9.0")


def test_a_quoted_line_of_the_program_under_the_header_is_not_taken_for_units() -> None:
    head, page = (DATA / "raw_2025.csv").read_text().split('"ID"')
    header, rest = page.split("\n", 1)
    report = read_report(f'{head}"ID"{header}\n"done", said the program\n{rest}')
    assert report.profiles[0].value(DURATION) == 1000128
    assert report.notes[1:] == ("line 6: neither units nor a launch; skipped",)


def test_raw_page_values_are_scaled_by_the_units_row() -> None:
    first, second = read("raw_2025.csv").profiles
    assert first.metrics[DURATION] == Metric(1000128.0, "ns", "7:19")
    assert first.value("dram__bytes.sum.per_second") == 3.25e12
    assert first.value("launch__shared_mem_per_block_static") == 1020
    assert second.value("smsp__pcsamp_sample_count") == 1234
    assert second.location == "8:1"


def test_raw_page_tells_a_zero_from_a_missing_value_and_from_a_word() -> None:
    first, second = read("raw_2025.csv").profiles
    assert first.value("smsp__pcsamp_sample_count") == 0
    assert first.unavailable == ("lts__t_sector_hit_rate.pct",)
    assert second.unavailable == ("dram__bytes.sum",)
    assert "dram__bytes.sum" not in second.metrics
    assert first.attributes["launch__func_cache_config"] == "CachePreferNone"


def test_raw_page_of_2021_has_its_block_and_the_new_name_of_an_old_metric() -> None:
    profile = only("raw_2021.csv")
    assert profile.block == (256, 1, 1)
    assert profile.value(DRAM) == profile.value("dram__throughput.avg.pct_of_peak_sustained_elapsed") == 60.25
    assert profile.value(DURATION) == 121600


def test_details_page_tells_the_two_memory_throughputs_apart() -> None:
    first, second = read("details_2025.csv").profiles
    assert (first.value(MEMORY), second.value(MEMORY)) == (90, 45)
    assert first.metrics["dram__bytes.sum.per_second"].value == 3.05025e12


def test_details_page_rules_keep_their_identifier_and_speedup() -> None:
    (rule,) = read("details_2025.csv").profiles[1].rules
    assert (rule.name, rule.severity, rule.estimated_speedup_pct, rule.speedup_scope) == ("SOLBottleneck", "OPT", 12.5, "global")
    assert rule.text == 'One unit is nearly full, see the "memory" section'


def test_details_page_with_nvtx_columns_is_read_by_header() -> None:
    profile = only("details_2021_nvtx.csv")
    assert profile.kernel == "gemm_tile"
    assert (profile.value(DRAM), profile.value(DURATION)) == (9.08, 2.86e6)
    assert profile.sections == ("SpeedOfLight", "ComputeWorkloadAnalysis")
    assert profile.rules[0].severity == "WRN"


@pytest.mark.parametrize("name", ["details_summary.csv", "console_summary.txt"])
def test_a_summary_gives_averages_and_its_number_of_launches(name: str) -> None:
    profile = only(name)
    assert (profile.value(DURATION), profile.invocations) == (5200, 20)


def test_decimal_commas_are_found_once_for_the_file() -> None:
    report = read("details_comma.csv")
    values = {name: metric.value for name, metric in report.profiles[0].metrics.items()}
    assert values == {DURATION: 117344, "dram__bytes.sum": 27595520, MEMORY: 65.77, "lts__t_sector_hit_rate.pct": 49.125}
    assert report.notes == ("numbers: comma is the decimal sign and point groups digits (shown by 2 values)",)


def test_console_of_2025_keeps_launches_sections_and_rules() -> None:
    report = read("console_2025.txt")
    first, second = report.profiles
    assert [profile.kernel for profile in report.profiles] == ["void scale_rows<float, 4>", "add_bias"]
    assert (first.value(DURATION), second.value(DURATION)) == (100080, 7040)
    assert first.sections == ("SpeedOfLight", "MemoryWorkloadAnalysis", "LaunchStats", "Occupancy")
    assert first.value("launch__shared_mem_config_size") == 16380
    assert [(rule.name, rule.severity, rule.estimated_speedup_pct, rule.speedup_scope) for rule in first.rules] == [
        ("SpeedOfLight", "INF", None, ""),
        ("Occupancy", "OPT", 12.5, "local"),
        ("Occupancy", "ERR", None, ""),
    ]
    assert first.rules[0].text.endswith("so a faster kernel has to move work to another unit or do less of it.")
    assert first.unavailable == ("lts__t_sector_hit_rate.pct", "smsp__issue_active.avg.per_cycle_active")
    assert "line 10: Warning: no fixed clocks were set while this data was taken." in report.notes


def test_an_unknown_label_stays_under_its_section() -> None:
    assert metric_name("LaunchStats", "Size Of Things", "") == "LaunchStats/Size Of Things"


@pytest.mark.parametrize(
    ("name", "dram", "frequency"),
    [("console_2020.txt", 60.25, 1.25e9), ("console_2020_2.txt", 9.08, 763.55e6), ("console_2021.txt", 10.5, 1.06e9)],
)
def test_labels_of_every_legacy_era_reach_the_current_metrics(name: str, dram: float, frequency: float) -> None:
    profile = only(name)
    assert profile.value(DRAM) == dram
    assert profile.value("gpc__cycles_elapsed.avg.per_second") == frequency
    assert not any("/" in metric for metric in profile.metrics)


def test_values_that_contradict_each_other_are_noted() -> None:
    text = (DATA / "console_2020.txt").read_text()
    assert read_report(text).notes == ()
    assert read_report(text.replace("121.60", "1.2160")).notes == (
        "line 4: 1216 ns at 1.25e+09 hz, but 151948 cycles; a number of this launch may be read by the wrong decimal sign",
    )


def test_a_label_that_meant_another_metric_keeps_its_earlier_meaning() -> None:
    profile = only("console_2020.txt")
    assert profile.value("sm__instruction_throughput.avg.pct_of_peak_sustained_active") == 22.1
    assert profile.value("sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed") is None


def test_an_ok_remark_of_2020_is_information() -> None:
    assert [rule.severity for rule in only("console_2020.txt").rules] == ["WRN", "INF"]


def test_console_metrics_of_newer_chips_are_found_under_the_name_guides_use() -> None:
    profile = only("console_metrics.txt")
    assert profile.value("dram__bytes_read.sum") == profile.value("dram__bytes_op_read.sum") == 1.5e6
    assert profile.unavailable == ("dram__bytes_op_write.sum", "dram__bytes_write.sum")


def test_a_paste_without_columns_is_read_by_known_labels() -> None:
    profile = only("console_pasted.txt")
    assert (profile.grid, profile.value(DURATION), profile.value(MEMORY)) == ((16, 1, 1), 12800, 42.5)
    assert profile.unavailable == ("lts__throughput.avg.pct_of_peak_sustained_elapsed",)
    assert profile.rules[0].estimated_speedup_pct == 87.5
    assert profile.value("launch__registers_per_thread") == 40


def test_an_anonymous_namespace_is_part_of_the_name() -> None:
    assert only("console_2022.txt").kernel == "(anonymous namespace)::row_sum"


def test_a_file_written_by_powershell_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text((DATA / "console_2025.txt").read_text(), encoding="utf-16")
    assert read_report(path).profiles == read("console_2025.txt").profiles


def test_a_spreadsheet_copy_without_quotes_reads_the_same() -> None:
    text = (DATA / "details_metrics.csv").read_text()
    plain = text.replace('","', ";").replace('"', "")
    assert read_report(plain).profiles == read("details_metrics.csv").profiles


def test_two_reports_in_one_file_follow_each_other() -> None:
    text = (DATA / "raw_2025.csv").read_text() + (DATA / "details_metrics.csv").read_text()
    assert [profile.kernel for profile in read_report(text).profiles] == ["void scale_rows<float, 4>", 'void tag<"x">', "copy"]


def test_input_that_is_no_report_says_why_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "run.ncu-rep").write_bytes(b"NVR\0\1\2")
    (tmp_path / "blob").write_bytes(b"abc\0def")
    (tmp_path / "prose.txt").write_text("Memory Throughput is what we want to know.\nDuration 12\n")
    assert message(tmp_path / "none.csv", "none.csv") == "none.csv: no such file; pass the path of an Nsight Compute report"
    assert message(tmp_path, "reports") == "reports: a folder, not a report; pass one file in it"
    assert message(tmp_path / "empty.txt", "empty.txt") == f"empty.txt: empty; profile again with: {AGAIN}"
    binary = message(tmp_path / "run.ncu-rep", "run.ncu-rep")
    assert binary.startswith("run.ncu-rep: a binary Nsight Compute report")
    assert binary.endswith("ncu --import run.ncu-rep --page raw --csv > run.csv")
    assert message(tmp_path / "blob", "blob") == (
        "blob: binary (a NUL byte in its first 65536 bytes), not a text report; pass the output of ncu as text"
    )
    assert message(tmp_path / "prose.txt", "prose.txt") == (
        f"prose.txt: no Nsight Compute output in it (neither a kernel line nor a CSV header); pass what this writes: {AGAIN}"
    )
    assert message("") == "report: no file name and no text given; pass the path of an Nsight Compute report"


def test_a_refused_counter_says_how_to_allow_it() -> None:
    assert message(DATA / "no_permission.txt", "log.txt") == (
        "log.txt:2: the driver refused access to the GPU's performance counters (ERR_NVGPUCTRPERM), so nothing was measured; run ncu as "
        "root, give the container CAP_SYS_ADMIN, or load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0; under WSL allow the "
        "counters to all users in the Windows NVIDIA control panel, then wsl --shutdown, then profile again; or go on without counters: "
        "warplore diagnose also reads ptxas -v, cuobjdump --dump-resource-usage, nsys stats, torch.profiler and Triton metadata, and takes "
        "--grid, --block, --time-us, --bytes and --flops"
    )


def test_a_run_without_results_says_where_they_are() -> None:
    assert message("==PROF== Connected to process 1\n==WARNING== No kernels were profiled.\n", "log") == (
        "log:2: ncu profiled no kernel; check --kernel-name, --launch-skip and --launch-count; add --target-processes all "
        "when a child process launches"
    )
    assert message("==PROF== Connected to process 1\n==PROF== Report: x\n", "log") == (
        "log:1: the profiler's log without its results, which -o wrote to a .ncu-rep file; export it: "
        "ncu --import X.ncu-rep --page raw --csv > X.csv"
    )


@pytest.mark.parametrize("name", ["raw_2021.csv", "details_metrics.csv"])
def test_a_header_alone_is_called_cut(name: str) -> None:
    header = (DATA / name).read_text().splitlines(keepends=True)[0]
    for text in (header, "\n" + header[:60]):
        line = 1 if text is header else 2
        assert message(text, "x.csv") == (
            f"x.csv:{line}: a CSV header without a row of metrics after it, so the file was cut or nothing was collected; "
            f"profile again: {AGAIN}"
        )


def test_a_source_page_is_refused_with_the_page_to_export() -> None:
    assert message('"Kernel Name","copy(float*)"\n"#","Source"\n', "s.csv") == (
        "s.csv:1: a source page (--page source), which holds lines of code instead of a launch's metrics; "
        "export the raw page: ncu --import REPORT.ncu-rep --page raw --csv > REPORT.csv"
    )


def test_a_cut_row_is_noted_with_its_line() -> None:
    text = (DATA / "raw_2025.csv").read_text()
    report = read_report(text[: text.index('"1,487,654') + 6])
    assert report.notes[-1] == 'line 7: row cut after "lts__t_sector_hit_rate.pct"'
    assert report.profiles[0].value("launch__shared_mem_per_block_static") == 1020
    assert "sm__cycles_active.avg" not in report.profiles[0].metrics


@pytest.mark.parametrize("name", POINT_DECIMALS)
@settings(max_examples=25, deadline=None)
@given(share=st.floats(0, 1))
def test_a_cut_report_never_invents_a_metric(name: str, share: float) -> None:
    whole = (DATA / name).read_bytes()
    part = whole[: int(share * len(whole))].decode(errors="replace")
    try:
        report = read_report(part + "" if "\n" in part else "\n" + part)
    except InputError:
        return
    full = read(name).profiles
    last_line = part.count("\n") + 1
    assert len(report.profiles) <= len(full)
    for got, expected in zip(report.profiles, full):
        for metric, value in got.metrics.items():
            at_the_cut = value.location.startswith(f"{last_line}:")
            assert at_the_cut or (value.value, value.unit) == (expected.metrics[metric].value, expected.metrics[metric].unit)


@settings(max_examples=40, deadline=None)
@given(
    text=st.text(alphabet=st.sampled_from('"ID,;KernelName metricSection:-\n=0123456789.%()xCC'), max_size=300), name=st.sampled_from(WHOLE)
)
def test_damage_in_the_middle_never_crashes(text: str, name: str) -> None:
    whole = (DATA / name).read_text()
    middle = len(whole) * (len(text) % 7 + 1) // 9
    try:
        report = read_report("\n" + whole[:middle] + text + whole[middle:])
    except InputError as error:
        assert str(error).startswith("report text:")
    else:
        assert report.profiles


@pytest.mark.parametrize("name", ["details_2025.csv", "details_2021_nvtx.csv", "details_summary.csv"])
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_order_of_details_rows_does_not_change_values(name: str, seed: int) -> None:
    lines = (DATA / name).read_text().splitlines(keepends=True)
    header = next(at for at, line in enumerate(lines) if '"Metric Name"' in line)
    rows = lines[header + 1 :]
    random.Random(seed).shuffle(rows)
    shuffled = read_report("".join([*lines[: header + 1], *rows])).profiles
    for got, expected in zip(shuffled, read(name).profiles, strict=True):
        assert got.launch_id == expected.launch_id
        assert {key: metric.value for key, metric in got.metrics.items()} == {key: metric.value for key, metric in expected.metrics.items()}
        assert set(got.unavailable) == set(expected.unavailable)


SAME_UNITS = [
    ("ns", "us", 1000),
    ("usecond", "msecond", 1000),
    ("ms", "second", 1000),
    ("byte", "Kbyte", 1000),
    ("Mbyte", "Gbyte", 1000),
    ("byte/second", "Gbyte/s", 10**9),
    ("hz", "Ghz", 10**9),
    ("cycle/second", "cycle/nsecond", 10**9),
    ("byte/block", "Kbyte/block", 1000),
]


@pytest.mark.parametrize(("small", "large", "factor"), SAME_UNITS)
@given(value=st.floats(1e-3, 1e6))
def test_the_printed_scale_does_not_change_a_value(small: str, large: str, factor: int, value: float) -> None:
    (unit, few), (same, many) = base_unit(small), base_unit(large)
    assert unit == same
    assert scaled(value * factor, few) == pytest.approx(scaled(value, many), rel=1e-6)


@pytest.mark.parametrize(
    ("unit", "base"), [("cycle/usecond", "hz"), ("Tbyte/s", "byte/s"), ("register/thread", "register/thread"), ("%", "%"), ("", "")]
)
def test_old_and_new_units_have_one_base(unit: str, base: str) -> None:
    assert base_unit(unit)[0] == base


@pytest.mark.parametrize(
    ("cells", "cell", "unit", "value"),
    [
        (["1,234.5"], "117,344", "ns", 117344),
        (["12.25"], "117.344", "ns", 117.344),
        (["12,25"], "117.344", "ns", 117344),
        (["27.595.520"], "1.024", "byte", 1024),
        (["12,25"], "12.345", "%", 12.345),
        ([], "117.344", "ns", 117.344),
        ([], "0,123", "", 0.123),
        (["12.25"], "65,77", "%", 65.77),
        (["12.25"], "1\u202f234", "byte", 1234),
        ([], "0,1,2", "", None),
        ([], "1_000", "", None),
        ([], "inf", "", None),
    ],
)
def test_a_number_is_read_by_its_own_sign_then_by_the_files(cells: list[str], cell: str, unit: str, value: float | None) -> None:
    assert number_style(cells).number(cell, unit) == value


@given(value=st.integers(0, 10**12), places=st.integers(0, 3))
def test_grouped_numbers_read_alike_in_both_styles(value: int, places: int) -> None:
    grouped = f"{value / 10**places:,.{places}f}"
    swapped = grouped.translate(str.maketrans(".,", ",."))
    assert number_style(["1.5"]).number(grouped) == number_style(["1,5"]).number(swapped) == pytest.approx(value / 10**places)


def test_every_label_of_every_section_has_its_own_metric() -> None:
    assert {section for section, _ in LABELS} <= set(SECTION_IDS.values())
    assert set(TELLTALES) <= set(SECTION_IDS.values())
    for (section, label), metric in LABELS.items():
        unit = "byte/s" if metric == "dram__bytes.sum.per_second" else "%"
        assert metric_name(section, label, unit) == metric


def test_derived_metrics_follow_from_what_is_there_and_say_so() -> None:
    made = derived_metrics(only("console_metrics.txt"))
    assert made["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"] == Metric(32.0, "sector/request", DERIVED)
    assert made["launch__thread_count"] == Metric(512.0, "thread", DERIVED)
    assert made["dram__bytes_read.sum.per_second"].value == pytest.approx(1.5e6 / 3.2e-6)


def test_derived_metrics_never_replace_measured_ones() -> None:
    profile = read("console_2025.txt").profiles[0]
    assert derived_metrics(profile).keys().isdisjoint(profile.metrics)
    assert with_derived(profile).metrics.items() >= profile.metrics.items()


def test_waves_need_every_block_limit() -> None:
    limits = {"blocks": 32.0, "registers": 8.0, "shared_mem": 14.0, "warps": 8.0}
    metrics = {f"launch__occupancy_limit_{what}": Metric(value, "block", "1:1") for what, value in limits.items()}
    metrics["launch__sm_count"] = Metric(132, "SM", "1:1")
    profile = Profile("k", grid=(4096, 1, 1), block=(256, 1, 1), metrics=metrics)
    assert derived_metrics(profile)["launch__waves_per_multiprocessor"].value == pytest.approx(3.8788, abs=1e-4)
    del metrics["launch__occupancy_limit_shared_mem"]
    assert "launch__waves_per_multiprocessor" not in derived_metrics(profile)


def test_a_wide_row_keeps_numbers_not_objects() -> None:
    names = [f"unit__metric_{at}.sum" for at in range(2227)]
    identity = [
        "ID",
        "Process ID",
        "Process Name",
        "Host Name",
        "Kernel Name",
        "Context",
        "Stream",
        "Block Size",
        "Grid Size",
        "Device",
        "CC",
    ]
    rows = [["", *[""] * 10, *["Kbyte"] * 2227]] + [[str(at), *"1phk17bg09", *["1,234.5"] * 2227] for at in range(20)]
    text = "\n".join(",".join(f'"{cell}"' for cell in row) for row in [[*identity, *names], *rows]) + "\n"
    profiles = read_report("==PROF== Connected\nprogram output\n" + text).profiles
    assert len(profiles) == 20
    assert profiles[19].value("unit__metric_2226.sum") == 1234500
    assert profiles[19].metrics["unit__metric_2226.sum"].location == "24:2238"
    assert len(profiles[19].metrics) == 2227

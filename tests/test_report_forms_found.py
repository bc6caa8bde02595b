"""Forms of reports found in public repositories: the window's exports, spreadsheets, logs with errors, and files of other profilers."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.errors import InputError
from retriever.reports.profile import Profile, Report
from retriever.reports.read import read_report

CYCLES = "gpc__cycles_elapsed.max"
DURATION = "gpu__time_duration.sum"
DRAM = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
VERTICAL = (
    "\ufeffID,0\n"
    "Estimated Speedup [%],83.01\n"
    "Function Name,scale\n"
    "Demangled Name,scale..\n"
    'Original Demangled Name,"scale(float *, int)"\n'
    "Process,[3176] python3.10\n"
    "Device Name,NVIDIA B200\n"
    'Grid Size," 4096,    8,    1"\n'
    'Block Size [block],"   32,    1,    1"\n'
    'gpc__cycles_elapsed.max [cycle],"339,579"\n'
    "gpu__time_duration.sum [us],296.74\n"
    "SM_B.TriageCompute.l1tex__t_sector_hit_rate.pct [%],{449}\n"
    'SM_B.TriageCompute.l1tex__t_sectors.sum [sector],"118,390,784 {449}"\n'
    "device__attribute_compute_capability_major,10\n"
    "device__attribute_compute_capability_minor,0\n"
    "launch__func_cache_config,CachePreferNone\n"
    "sass__inst_executed_register_spilling_mem_local [byte],no data\n"
)
ROW = '"2";"34";"python3";"127.0.0.1";"scale";"1";"7";"(128, 1, 1)";"(32, 1, 1)";"0";"8.6";"Memory Workload Analysis"'
SPEED = "    Section: GPU Speed Of Light Throughput\n"
KERNEL = "  scale(float*, int) (64, 1, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 8.6\n"


def only(report: Report) -> Profile:
    (profile,) = report.profiles
    return profile


def values(profile: Profile) -> dict[str, float]:
    return {name: metric.value for name, metric in profile.metrics.items()}


def refusal(path_or_text: str | Path) -> str:
    with pytest.raises(InputError) as error:
        read_report(path_or_text, "given")
    return str(error.value)


def row(label: str, unit: str, value: str) -> str:
    return f"    {label:<28} {unit:>15} {value:>12}\n"


def test_a_raw_page_with_a_metric_a_line_gives_the_launch_and_its_metrics() -> None:
    report = read_report(VERTICAL)
    profile = only(report)
    assert (report.layout, report.has_every_metric) == ("csv-vertical", True)
    assert (profile.kernel, profile.signature, profile.device) == ("scale", "scale(float *, int)", "NVIDIA B200")
    assert (profile.grid, profile.block, profile.compute_capability) == ((4096, 8, 1), (32, 1, 1), "10.0")
    assert (profile.launch_id, profile.process_id) == ("0", "3176")
    assert profile.metrics[DURATION].value == 296740 and profile.metrics[DURATION].unit == "ns"
    assert profile.metrics[CYCLES].value == 339579 and profile.metrics[CYCLES].location == "10:2"
    assert profile.attributes["launch__func_cache_config"] == "CachePreferNone"
    assert profile.unavailable == ("sass__inst_executed_register_spilling_mem_local",)


def test_counts_of_instances_are_no_part_of_a_value_and_no_value_alone() -> None:
    profile = only(read_report(VERTICAL))
    assert profile.value("SM_B.TriageCompute.l1tex__t_sectors.sum") == 118_390_784
    assert not any("hit_rate" in name for name in (*profile.metrics, *profile.unavailable))


def test_a_vertical_page_without_its_function_name_is_named_by_its_demangled_one() -> None:
    profile = only(read_report(VERTICAL.replace("Function Name,scale\n", "")))
    assert (profile.kernel, profile.value(DURATION)) == ("scale", 296740)


def test_vertical_pages_below_and_beside_each_other_are_launches_of_their_own() -> None:
    below = read_report(VERTICAL + VERTICAL.replace("ID,0", "ID,1").replace("296.74", "100.00"))
    beside = read_report("ID,0,1\nFunction Name,scale,add\ngpu__time_duration.sum [us],296.74,100.00\n")
    for report in (below, beside):
        assert [(profile.launch_id, profile.value(DURATION)) for profile in report.profiles] == [("0", 296740), ("1", 100000)]
    assert [profile.kernel for profile in beside.profiles] == ["scale", "add"]


def test_a_program_that_prints_an_id_adds_no_launch_to_its_report() -> None:
    assert only(read_report("ID,0\n" + KERNEL + SPEED + row("Duration", "us", "12.30"))).value(DURATION) == 12300


@pytest.mark.parametrize("value", ["84,83", "84.83"])
def test_rows_between_semicolons_need_no_header(value: str) -> None:
    report = read_report(f'{ROW};"L2 Hit Rate";"%";"{value}"\n{ROW};"Mem Pipes Busy";"%";"12,30"\n')
    assert report.layout == "csv-details" and only(report).kernel == "scale"
    assert only(report).value("lts__t_sector_hit_rate.pct") == 84.83


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("run.nsys-rep", b"NVIDIA Tegra Profiler Report 1.\n\x0b\0"),
        ("run.qdrep", b"\1\2\0"),
        ("run.sqlite", b"SQLite format 3\0"),
    ],
)
def test_a_binary_file_of_nsys_says_how_nsys_prints_it(tmp_path: Path, name: str, head: bytes) -> None:
    (tmp_path / name).write_bytes(head)
    (tmp_path / "renamed").write_bytes(head)
    assert refusal(tmp_path / name).endswith(f"pass what this writes: nsys stats --report cuda_gpu_kern_sum {name}")
    if name != "run.qdrep":
        assert refusal(tmp_path / "renamed").endswith("nsys stats --report cuda_gpu_kern_sum FILE")


@pytest.mark.parametrize(
    "text",
    [
        "prose\n GPU activities:   15.95%  1.72898s     28160  61.398us  3.4240us  133.22us  scale\n",
        "prose\nInvocations          Metric Name      Metric Description         Min         Max         Avg\n          2 inst_per_warp\n",
        "prose\n==42== NVPROF is profiling process 42, command: ./app\n",
    ],
)
def test_output_of_nvprof_is_named_with_what_to_run_instead(text: str) -> None:
    said = refusal(text)
    assert said.startswith("given:2: output of nvprof, which is not read")
    assert "ncu --set full" in said and "nsys stats --report cuda_gpu_kern_sum run.nsys-rep" in said


def test_an_error_of_the_profiler_is_a_note_wherever_it_stands() -> None:
    error = "==ERROR== The application returned an error code (255)."
    note = f"{error} What to do: the program ended with an error; what was profiled before stands"
    console = KERNEL + SPEED + row("Duration", "us", "12.30")
    csv = f'{ROW};"L2 Hit Rate";"%";"84.83"\n'
    for text in (console, csv):
        assert f"line 2: {note}" in read_report(f"==PROF== Connected to process 6963\n{error}\n{text}").notes
        below = read_report(f"{text}{error}\n").notes
        assert below.count(f"line {text.count(chr(10)) + 1}: {note}") == 1


def test_the_first_row_that_the_window_copied_is_read_with_the_rest() -> None:
    profile = only(read_report("Duration [us]\t296.74\nElapsed Cycles [cycle]\t339,579\nDRAM Throughput [%]\t12.10\n"))
    assert values(profile) == {DURATION: 296740, CYCLES: 339579, DRAM: 12.1}


def test_a_row_as_the_window_has_it_apart_from_the_report_is_left_alone() -> None:
    text = "Duration [us]   99.90\nthat was the program\nElapsed Cycles [cycle]   339,579\nDRAM Throughput [%]   12.10\n"
    assert only(read_report(text)).value(DURATION) is None


def test_how_numbers_were_read_is_told_only_where_it_matters() -> None:
    plain = (
        KERNEL + SPEED + row("Duration", "us", "12.30") + row("Elapsed Cycles", "cycle", "1,234") + row("DRAM Throughput", "%", "12.345")
    )
    assert read_report(plain).notes == ()
    twofold = plain + row("SM Active Cycles", "cycle", "1,234")
    assert [note[:37] for note in read_report(twofold).notes] == ["numbers: point is the decimal sign an"]
    silent = KERNEL + SPEED + row("Duration", "us", "1,234")
    assert read_report(silent).notes == ("numbers: no value shows the decimal sign; a point is read as decimal, a comma as grouping",)
    commas = KERNEL + SPEED + row("Duration", "us", "12,30")
    assert [note[:37] for note in read_report(commas).notes] == ["numbers: comma is the decimal sign an"]

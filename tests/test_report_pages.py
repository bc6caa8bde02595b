"""Pages besides a plain raw or details page: source lines, summaries, processes, ranges, labels for names; and what names mean."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import InputError
from retriever.hot_lines import hot_lines_json, hot_lines_text
from retriever.reports.names import metric_name, names_for
from retriever.reports.profile import Metric
from retriever.reports.raw_page import PLAIN_RUN
from retriever.reports.read import read_report
from retriever.reports.units import number_style

DATA = Path(__file__).parent / "data" / "reports"
DURATION = "gpu__time_duration.sum"
DRAM = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
RAW = (DATA / "raw_2025.csv").read_text()

IDENTITY = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC"'
UNITS = '"",' * 11 + '"us",""'
HEAD = f'{IDENTITY},"{DURATION}","smsp__issue_active.avg.per_cycle_active"\n{UNITS}\n'
INSTRUCTIONS = (
    '"Kernel Name","copy(float *)",\n'
    '"Address","Source","Warp Stall Sampling (All Samples)","# Samples","stall_barrier","stall_long_sb","stall_selected",'
    '"stall_long_sb (Not Issued)"\n'
    '"0x10","LDG R1, [R2]","1,200","1,200","0","1,100","100","900"\n'
    '"0x20","STG [R2], R1","30","30","20","","10","900"\n'
    '"0x30","EXIT","","","","","",""\n'
)


def launch(id: str, process: str = "1", name: str = "copy(float *)", device: str = "0", cc: str = "9.0", issue: str = "0.2") -> str:
    return f'"{id}","{process}","a","h","{name}","1","7","(256, 1, 1)","(64, 1, 1)","{device}","{cc}","1.5","{issue}"\n'


def message(path_or_text: str | Path, name: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_report(path_or_text, name)
    return str(caught.value)


def test_instructions_with_samples_become_lines_hottest_first() -> None:
    (profile,) = read_report(INSTRUCTIONS).profiles
    assert [(line.text, line.samples, line.main_stall) for line in profile.lines] == [
        ("LDG R1, [R2]", 1200, "long_scoreboard"),
        ("STG [R2], R1", 30, "barrier"),
    ]
    assert (profile.kernel, profile.signature, profile.sampled) == ("copy", "copy(float *)", 1230)
    assert profile.lines[0].location == "3:4"


def test_a_source_page_alone_gives_sums_of_samples_and_no_ratio() -> None:
    report = read_report(INSTRUCTIONS)
    (profile,) = report.profiles
    assert profile.metrics["smsp__pcsamp_warps_issue_stalled_long_scoreboard"] == Metric(1100, "warp", "1:1")
    assert all(name.startswith("smsp__pcsamp_") for name in profile.metrics)
    assert "have only their source page" in report.notes[-1]
    assert report.notes[-1].endswith("ncu --import REPORT.ncu-rep --page raw --csv")


def test_lines_of_source_stand_for_their_instructions_and_files_of_one_launch_belong_together() -> None:
    columns = '"Line No","Source","Address","Source","# Samples","stall_long_sb","stall_selected"\n'
    kernel = (
        f'"File Path","/src/k.cu"\n"Function Name","copy"\n{columns}"3","x = y;","-","-","10","7","3"\n"","","0x10","LDG","10","7","3"\n'
    )
    header = f'"File Path","/src/h.cuh"\n"Function Name","copy"\n{columns}"9","z;","-","-","5","1","4"\n'
    first, second = read_report(kernel + header + kernel).profiles
    assert [(line.file, line.line, line.text, line.samples) for line in first.lines] == [
        ("/src/k.cu", 3, "x = y;", 10),
        ("/src/h.cuh", 9, "z;", 5),
    ]
    assert (first.sampled, second.sampled) == (15, 10)


@pytest.mark.parametrize("pages", [HEAD + launch("0") + launch("1") + INSTRUCTIONS, INSTRUCTIONS + HEAD + launch("0") + launch("1")])
def test_lines_join_the_launch_of_their_kernel_in_the_same_file(pages: str) -> None:
    first, second = read_report(pages).profiles
    assert (first.sampled, second.sampled) == (1230, 0)
    assert "smsp__pcsamp_sample_count" not in first.metrics


def test_lines_join_a_launch_of_console_text() -> None:
    text = (DATA / "console_2025.txt").read_text() + INSTRUCTIONS.replace("copy(float *)", "add_bias(float *)")
    assert [profile.sampled for profile in read_report(text).profiles] == [0, 1230]


def test_blocks_without_a_launch_stand_for_themselves_and_are_noted() -> None:
    report = read_report(HEAD + launch("0", name="other()") + INSTRUCTIONS)
    assert [(profile.kernel, profile.sampled) for profile in report.profiles] == [("other", 0), ("copy", 1230)]
    assert "line 4: 1 source blocks fit no launch of this file by kernel name; each stands for itself" in report.notes


@pytest.mark.parametrize("end", range(0, len(INSTRUCTIONS), 7))
def test_a_cut_source_page_never_invents_a_sample(end: int) -> None:
    whole = {(line.text, line.samples) for line in read_report(INSTRUCTIONS).profiles[0].lines}
    try:
        profiles = read_report(INSTRUCTIONS[:end], "s.csv").profiles
    except InputError:
        return
    assert {(line.text, line.samples) for profile in profiles for line in profile.lines} <= whole


def test_hot_lines_are_told_in_shares_of_samples() -> None:
    (profile,) = read_report(INSTRUCTIONS).profiles
    form = hot_lines_json(profile)
    assert form is not None
    assert form["samples"] == 1230
    assert form["lines"][0]["share_pct"] == 97.6
    assert hot_lines_text(profile)[1] == " 98%  0x10  long_scoreboard 92% of them  LDG R1, [R2]"
    assert hot_lines_json(read_report(RAW).profiles[0]) is None


def test_launch_numbers_that_repeat_among_processes_stay_apart() -> None:
    rows = [
        f'"{id}","{process}","a","h","copy","1","7","(256, 1, 1)","(64, 1, 1)","{process}","9.0","S","{DURATION}","ns","{value}"\n'
        for id, process, value in (("1", "8", 4), ("0", "8", 3), ("0", "9", 5))
    ]
    report = read_report(f'{IDENTITY},"Section Name","Metric Name","Metric Unit","Metric Value"\n' + "".join(rows))
    found = [(profile.process_id, profile.launch_id, profile.gpu_index, profile.value(DURATION)) for profile in report.profiles]
    assert found == [("8", "0", "8", 3), ("8", "1", "8", 4), ("9", "0", "9", 5)]


def test_a_range_is_no_kernel_and_a_launch_without_a_name_is_kept_by_its_number() -> None:
    report = read_report(HEAD + launch("0", name="range 0") + launch("1", name="") + launch("2", name="range_reduce(int)"))
    assert [(profile.kernel, profile.workload) for profile in report.profiles] == [
        ("range 0", "range"),
        ("", "kernel"),
        ("range_reduce", "kernel"),
    ]


def test_a_total_in_front_of_its_instances_is_the_value() -> None:
    first, second = read_report(HEAD + launch("0", issue="0.2 (0.1; 0.3)") + launch("1", issue="0.25 (1: 0.1; 2: 0.4)")).profiles
    assert [profile.value("smsp__issue_active.avg.per_cycle_active") for profile in (first, second)] == [0.2, 0.25]


@pytest.mark.parametrize("header", ["Issued Warp Per Scheduler", "Issued Warp Per Scheduler (smsp__issue_active.avg.per_cycle_active)"])
def test_a_raw_page_headed_by_labels_reads_the_same(header: str) -> None:
    text = (HEAD + launch("0")).replace(DURATION, "Duration").replace("smsp__issue_active.avg.per_cycle_active", header)
    assert dict(read_report(text).profiles[0].metrics) == dict(read_report(HEAD + launch("0")).profiles[0].metrics)


def test_columns_of_nvtx_ranges_are_no_metrics() -> None:
    nvtx = '"thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg","Id:Domain:Start/Stop_Range:PL_Type",'
    text = (HEAD + launch("0")).replace('"Kernel Name"', nvtx + '"Kernel Name"')
    lines = [line.replace('"h",', '"h","1,5","",').replace('"","","","",', '"","","","","","",', 1) for line in text.splitlines()]
    (profile,) = read_report("\n".join(lines) + "\n").profiles
    assert (profile.kernel, set(profile.metrics), profile.unavailable, profile.attributes) == (
        "copy",
        {DURATION, "smsp__issue_active.avg.per_cycle_active"},
        (),
        {},
    )


def test_a_summary_of_a_whole_gpu_needs_no_kernel_name() -> None:
    header = '"Device","Invocations","Section Name","Metric Name","Metric Unit","Minimum","Maximum","Average"\n'
    (profile,) = read_report(header + '"NVIDIA H200","5","GPU Speed Of Light Throughput","Duration","us","1","3","2"\n').profiles
    assert (profile.kernel, profile.device, profile.invocations, profile.value(DURATION)) == ("", "NVIDIA H200", 5, 2000)


def test_a_source_page_as_text_says_how_to_export_it() -> None:
    text = (DATA / "console_2025.txt").read_text().splitlines()[:40]
    kernel = next(line for line in text if "CC " in line)
    assert message(f"{kernel}\n   Address Source Warp Stall Sampling (All Samples)\n", "s.txt") == (
        "s.txt:2: a source page as text, whose columns run into each other; export it as CSV: "
        "ncu --import REPORT.ncu-rep --page source --csv"
    )


def test_a_session_page_is_told_from_other_text() -> None:
    text = "Device Attributes\n  Display Name  NVIDIA H200\n  Multiprocessor Count  132\n"
    assert message(text, "s.txt").startswith("s.txt: looks like a session page (--page session), which has the GPU's attributes and no")


@pytest.mark.parametrize(
    ("printed", "asked"),
    [
        (
            "sm__pipe_tensor_cycles_active_v2.avg.pct_of_peak_sustained_elapsed",
            "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
        ),
        ("sm__pipe_tensor_op_hmma_cycles_active_v2.sum", "sm__pipe_tensor_op_hmma_cycles_active.sum"),
        ("sm__pipe_tensor_subpipe_imma_cycles_active.avg", "sm__pipe_tensor_op_imma_cycles_active.avg"),
        ("smsp__sass_inst_executed_op_local_ld.sum", "smsp__inst_executed_op_local_ld.sum"),
        ("dram__sectors_op_write.sum", "dram__sectors_write.sum"),
        ("syslts__t_sectors_srcunit_tex_aperture_sysmem_lookup_miss.sum", "lts__t_sectors_srcunit_tex_aperture_sysmem_lookup_miss.sum"),
        ("sm__inst_executed_pipe_fma_type_fp16.sum", "sm__inst_executed_pipe_fp16.sum"),
    ],
)
def test_a_count_that_another_gpu_spells_differently_is_found_by_the_name_guides_use(printed: str, asked: str) -> None:
    assert names_for(printed) == (printed, asked)
    assert names_for(printed, {asked}) == (printed,)


@pytest.mark.parametrize(
    "name",
    [
        "smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct",
        "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
        "sm__pipe_tc_cycles_active.avg.pct_of_peak_sustained_elapsed",
    ],
)
def test_a_metric_of_another_base_keeps_its_own_name(name: str) -> None:
    assert names_for(name) == (name,)


def test_a_prefix_is_part_of_a_metric_name() -> None:
    assert metric_name("", "breakdown:sm__throughput.avg", "") == "breakdown:sm__throughput.avg"
    assert metric_name("", "memory_l2_theoretical_sectors_global", "") == "memory_l2_theoretical_sectors_global"


@pytest.mark.parametrize(("cc", "absent"), [("12.1", True), ("9.0", False)])
def test_a_gpu_without_dram_counters_is_not_asked_for_them_again(cc: str, absent: bool) -> None:
    (profile,) = read_report(HEAD + launch("0", cc=cc)).profiles
    assert (DRAM in profile.unavailable) is absent


@given(st.from_regex(r"-?[0-9]{0,6}[.,]?[0-9]{0,4}", fullmatch=True))
def test_a_run_of_plain_numbers_holds_only_what_a_single_cell_reads_the_same(cell: str) -> None:
    found = PLAIN_RUN.match(cell + "\n")
    assert found
    if found[0]:
        assert float(cell.replace(",", "")) == number_style(["1,234.5"]).number(cell)

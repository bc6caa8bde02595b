"""Summaries of the whole GPU without counters: nsys's kernels and copies in one table, by shape and by execution, and nvprof's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from indexer.errors import InputError
from indexer.gpus import load_gpus, resolve_gpu
from retriever.reports.profile import Report
from retriever.reports.read import read_report
from retriever.reports.weak_form import form_of, is_weak
from retriever.service import Warplore

ROOT = Path(__file__).parent.parent
DURATION, TOTAL, SHARE = "gpu__time_duration.sum", "trace__total_ns", "trace__share_of_kernel_time_pct"
Writer = Callable[[list[str], list[list[str]]], str]

GEMM, SCALE = "void gemm<float, (int)128>(const float *, int)", "scale(float *)"
TIMES = ["Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)"]
GEMM_TIMES = ["2,000,000.0", "1,990,000.0", "1,980,000", "2,040,000", "24,000.0"]
SCALE_TIMES = ["3,000.0", "2,980.0", "2,900", "3,300", "80.0"]

MIXED_HEAD = ["Time (%)", "Total Time (ns)", "Instances", *TIMES, "Category", "Operation"]
MIXED = [
    ["80.0", "8,000,000", "4", *GEMM_TIMES, "CUDA_KERNEL", GEMM],
    ["17.0", "1,700,000", "10", "170,000.0", "169,000.0", "160,000", "180,000", "5,000.0", "MEMORY_OPER", "[CUDA memcpy Host-to-Device]"],
    ["3.0", "300,000", "100", *SCALE_TIMES, "CUDA_KERNEL", SCALE],
]
SHAPES_HEAD = ["Time (%)", "Total Time (ns)", "Instances", *TIMES, "GridXYZ", "BlockXYZ", "Name"]
SHAPES = [
    ["96.4", "8,000,000", "4", *GEMM_TIMES, "  64   64    1", " 256    1    1", GEMM],
    ["3.6", "300,000", "100", *SCALE_TIMES, "  40    1    1", " 128    1    1", SCALE],
]
EXECUTIONS_HEAD = [
    *("PID", "TID", "DevId", "Count", "QCount"),
    *(f"{side}{time}" for side in "TAQK" for time in TIMES),
    *("API Name", "Kernel Name"),
]
NO_QUEUE = ["", "", "", "", ""]
EXECUTIONS = [
    ["7", "7", "0", "4", "3", *["9.0"] * 15, *GEMM_TIMES, "cudaLaunchKernel", GEMM],
    ["7", "7", "0", "100", "0", *["9.0"] * 10, *NO_QUEUE, *SCALE_TIMES, "cudaLaunchKernel", SCALE],
]
TABLES = {"mixed": (MIXED_HEAD, MIXED), "shapes": (SHAPES_HEAD, SHAPES), "executions": (EXECUTIONS_HEAD, EXECUTIONS)}
BANNERS = {
    "mixed": "Processing [run.sqlite] with [cuda_gpu_sum.py]...\n\n ** CUDA GPU Summary (Kernels/MemOps) (cuda_gpu_sum):\n\n",
    "shapes": " ** CUDA GPU Kernel/Grid/Block Summary (cuda_gpu_kern_gb_sum):\n\n",
    "executions": " ** CUDA Kernel Launch & Exec Time Summary (cuda_kern_exec_sum):\n\n",
}

NVPROF_HEAD = "            Type  Time(%)      Time     Calls       Avg       Min       Max  Name\n"
NVPROF_ROWS = """\
 GPU activities:   80.00%  8.0000ms         4  2.0000ms  1.9800ms  2.0400ms  void gemm<float, int=128>(float const *, int)
                   13.00%  1.3000ms        90  14.444us     992ns  48.799us  [CUDA memcpy HtoD]
                    7.00%  700.00us       100  7.0000us  6.5600us  7.7440us  scale(float*)
"""
NVPROF_CALLS = "      API calls:   99.00%  4.67456s       321  14.563ms  2.6010us  4.64904s  cudaMalloc\n"
NVPROF_BANNER = "==42== NVPROF is profiling process 42, command: ./app\n==42== Profiling application: ./app\n==42== Profiling result:\n"
NVPROF = NVPROF_BANNER + NVPROF_HEAD + NVPROF_ROWS + NVPROF_CALLS
NVPROF_CSV = """\
==42== Profiling result:
"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"
,%,ms,,us,us,us,
"GPU activities",80.000000,8.000000,4,2000.000000,1980.000000,2040.000000,"void gemm<float, int=128>(float const *, int)"
"GPU activities",13.000000,1.300000,90,14.444000,0.992000,48.799000,"[CUDA memcpy HtoD]"
"GPU activities",7.000000,0.700000,100,7.000000,6.560000,7.744000,"scale(float*)"
"API calls",99.000000,4674.560000,321,14563.000000,2.601000,4649040.000000,"cudaMalloc"
"""
NVPROF_OLD = (
    NVPROF_BANNER
    + NVPROF_HEAD.replace("            Type", "")
    + "".join(line[17:] + "\n" for line in NVPROF_ROWS.splitlines())
    + "\n==42== API calls:\n"
    + NVPROF_HEAD.replace("            Type", "")
    + NVPROF_CALLS[17:]
)


def column(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(map(len, cells)) for cells in zip(head, *rows)]
    dashes = ["-" * width for width in widths]
    lines = [head, dashes, *rows]
    return "".join(" " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths)) + "\n" for line in lines)


def comma(head: list[str], rows: list[list[str]]) -> str:
    plain = [[cell.replace(",", "") if cell[:1].isdigit() else cell for cell in row] for row in rows]
    return "".join(",".join(f'"{cell}"' if "," in cell else cell for cell in row) + "\n" for row in [head, *plain])


def markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---:"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def boxed(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(map(len, cells)) for cells in zip(head, *rows)]
    border = "+" + "+".join("-" * (width + 2) for width in widths) + "+\n"
    drawn = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |\n" for row in [head, *rows]]
    return "".join((border, drawn[0], border.replace("-", "="), *drawn[1:], border))


def tabs(head: list[str], rows: list[list[str]]) -> str:
    return "".join("\t".join(line) + "\n" for line in [head, *rows])


WRITERS = (column, comma, markdown, boxed, tabs)


def kernels(report: Report) -> list[tuple[str, int, float | None, float | None]]:
    return [(p.kernel, p.invocations, p.value(TOTAL), p.value(DURATION)) for p in report.profiles]


BOTH = [("void gemm<float, (int)128>", 4, 8_000_000, 1_990_000), ("scale", 100, 300_000, 2_980)]


@pytest.mark.parametrize("banner", [True, False])
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("table", TABLES)
def test_every_summary_with_kernels_reads_alike_in_every_format(table: str, writer: Writer, banner: bool) -> None:
    report = read_report((BANNERS[table] if banner else "") + writer(*TABLES[table]))
    assert kernels(report) == BOTH
    assert all(is_weak(profile) and form_of(profile).startswith("nsys stats, ") for profile in report.profiles)
    assert not any("left out" in note for note in report.notes)


@pytest.mark.parametrize("writer", WRITERS)
def test_copies_in_the_mixed_summary_stand_beside_the_kernels_and_have_no_share(writer: Writer) -> None:
    report = read_report(writer(MIXED_HEAD, MIXED))
    assert report.notes[0].startswith("copies and fills take 1.7 ms of the GPU beside 8.3 ms of kernels ([CUDA memcpy Host-to-Device]")
    assert [profile.value(SHARE) for profile in report.profiles] == [pytest.approx(100 * 8 / 8.3), pytest.approx(100 * 0.3 / 8.3)]
    assert form_of(report.profiles[0]) == "nsys stats, GPU summary"


@pytest.mark.parametrize("writer", WRITERS)
def test_the_summary_by_shape_gives_grid_and_block_and_asks_for_the_rest(writer: Writer) -> None:
    report = read_report(writer(SHAPES_HEAD, SHAPES))
    assert [(p.grid, p.block) for p in report.profiles] == [((64, 64, 1), (256, 1, 1)), ((40, 1, 1), (128, 1, 1))]
    assert report.notes[-1].startswith("a summary has no registers and no shared memory; nsys stats --report cuda_gpu_trace")


def test_a_grid_of_one_row_is_weak_evidence_of_a_small_grid() -> None:
    small = [[*row[:8], "   4    1    1", " 256    1    1", SCALE] for row in SHAPES[:1]]
    core = Warplore(ROOT)
    _, diagnosis = core.diagnose(read_report(column(SHAPES_HEAD, small)), resolve_gpu("H200", load_gpus(ROOT)))[0]
    assert ("small-grid", True) in [(bottleneck.id, bottleneck.weak) for bottleneck in diagnosis.bottlenecks]


def test_the_total_of_executions_is_computed_and_said_so() -> None:
    report = read_report(column(EXECUTIONS_HEAD, EXECUTIONS))
    assert "kernel time in all is the executions times their average, since this table has no total" in report.notes


def test_mangled_names_and_base_names_read_as_names() -> None:
    mangled = [[*MIXED[0][:-1], "_ZN4demo5heavyILi256EfEEvPKT0_PS1_i"], [*MIXED[2][:-1], "scale"]]
    assert [profile.kernel for profile in read_report(comma(MIXED_HEAD, mangled)).profiles] == ["demo::heavy", "scale"]


def test_the_summary_of_2020_without_a_median_gives_the_mean() -> None:
    head = ["Time(%)", "Total Time (ns)", "Instances", "Average", "Minimum", "Maximum", "Category", "Operation"]
    rows = [[*row[:4], *row[5:7], *row[8:]] for row in MIXED]
    for writer in (column, comma):
        assert [values[3] for values in kernels(read_report(writer(head, rows)))] == [2_000_000, 3_000]


def test_a_shortened_table_with_single_spaces_is_read() -> None:
    text = (
        "Time (%)  Total Time (ns)  Instances  Category   Operation\n"
        "--------  ---------------  --------- ----------- ------------------\n"
        "    98.5       75,403,544      1     CUDA_KERNEL add(int, float *, float *)\n"
        "     1.5          768,480     48     MEMORY_OPER [memcpy Unified H2D]\n"
    )
    report = read_report(text)
    assert kernels(report) == [("add", 1, 75_403_544, 75_403_544)]
    assert "[memcpy Unified H2D] 0.7685 ms" in report.notes[0]


def test_a_quoted_table_whose_gaps_were_lost_is_read() -> None:
    lines = [" ".join(" ".join(line).split()) for line in [SHAPES_HEAD, *SHAPES]]
    report = read_report("".join(f"> {line}\n" for line in lines))
    assert kernels(report) == BOTH
    assert report.profiles[0].grid == (64, 64, 1)


def test_a_name_that_lost_its_quotes_keeps_its_arguments() -> None:
    report = read_report(comma(MIXED_HEAD, MIXED).replace('"', ""))
    assert report.profiles[0].signature == GEMM


def test_semicolons_and_decimal_commas_are_read_in_the_mixed_summary() -> None:
    swap = str.maketrans(",.", ".,")
    rows = [[cell.translate(swap) if cell[0].isdigit() else f'"{cell}"' for cell in row] for row in MIXED]
    report = read_report("".join(";".join(row) + "\n" for row in [MIXED_HEAD, *rows]))
    assert kernels(report) == BOTH
    assert any("comma is the decimal sign" in note for note in report.notes)


def test_the_same_launches_in_several_tables_count_once() -> None:
    plain = [row[:8] + row[10:] for row in SHAPES]
    parts = [column([*SHAPES_HEAD[:8], "Name"], plain), column(MIXED_HEAD, MIXED), column(SHAPES_HEAD, SHAPES)]
    report = read_report("\n".join(parts))
    assert kernels(report) == BOTH
    assert report.profiles[0].block == (256, 1, 1)


def test_host_calls_of_the_summary_of_everything_are_left_out() -> None:
    call = ["50.0", "10,000,000", "104", *SCALE_TIMES, "CUDA_API", "cudaLaunchKernel"]
    rows = [call, *([str(float(row[0]) / 2), *row[1:]] for row in MIXED)]
    report = read_report(column(MIXED_HEAD, rows))
    assert kernels(report) == BOTH
    assert not any("a part of the table" in note or "cannot be read" in note for note in report.notes)


def test_a_part_of_the_mixed_summary_keeps_its_column_and_says_what_it_counts() -> None:
    report = read_report(column(MIXED_HEAD, MIXED[1:]))
    assert [profile.value(SHARE) for profile in report.profiles] == [3.0]
    assert any("counts kernels and memory operations together" in note for note in report.notes)


def test_rows_that_are_neither_kernel_nor_copy_are_named_by_their_line() -> None:
    other = [["1.0", "many", *MIXED[2][2:]], [*MIXED[2][:8], "GRAPH", "graph 1"]]
    report = read_report(comma(MIXED_HEAD, [*MIXED, *other]))
    assert kernels(report) == BOTH
    assert "line 5, 6: 2 rows of the table cannot be read as a kernel or a copy, left out" in report.notes


def test_a_mixed_summary_of_copies_alone_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match=r":1: a table of nsys without a row of a kernel"):
        read_report(column(MIXED_HEAD, MIXED[1:2]))


@pytest.mark.parametrize(
    "head",
    [
        ["Time (%)", "Total Time (ns)", "Count", *TIMES, "Operation"],
        ["Total (MB)", "Count", "Avg (MB)", "Med (MB)", "Min (MB)", "Max (MB)", "StdDev (MB)", "Operation"],
    ],
)
def test_copies_alone_ask_for_the_kernels(head: list[str]) -> None:
    row = [*["99.0", "1,700,000", "10", *SCALE_TIMES][: len(head) - 1], "[CUDA memset]"]
    for writer in (column, comma):
        with pytest.raises(InputError, match=r":1: nsys stats of copies and fills, which has no kernels; .*cuda_gpu_kern_sum"):
            read_report(writer(head, [row]))


def test_rows_by_shape_or_with_a_category_ask_for_their_header() -> None:
    for head, rows in (TABLES["mixed"], TABLES["shapes"]):
        with pytest.raises(InputError, match=r":1: rows of nsys stats without their header line"):
            read_report(column(head, rows).split("\n", 2)[2])


# nvprof


@pytest.mark.parametrize("text", [NVPROF, NVPROF_CSV, NVPROF_OLD, NVPROF_HEAD + NVPROF_ROWS], ids=["text", "csv", "old", "paste"])
def test_the_summary_of_nvprof_is_read_as_weak_evidence(text: str) -> None:
    report = read_report(text)
    assert kernels(report) == [
        ("void gemm<float, int=128>", 4, 8_000_000, 2_000_000),
        ("scale", 100, pytest.approx(700_000), pytest.approx(7_000)),
    ]
    assert [profile.value(SHARE) for profile in report.profiles] == [pytest.approx(100 * 8 / 8.7), pytest.approx(100 * 0.7 / 8.7)]
    assert {form_of(profile) for profile in report.profiles} == {"nvprof, GPU activities"}
    assert report.notes[0] == "copies and fills take 1.3 ms of the GPU beside 8.7 ms of kernels ([CUDA memcpy HtoD] 1.3 ms)"
    assert report.notes[-1].startswith("the summary of nvprof has neither grid nor registers")


def test_every_bottleneck_from_nvprof_is_weak() -> None:
    for _, diagnosis in Warplore(ROOT).diagnose(read_report(NVPROF), resolve_gpu("V100", load_gpus(ROOT))):
        assert all(bottleneck.weak for bottleneck in diagnosis.bottlenecks)
        assert "uncoalesced-access" in {item.bottleneck for item in diagnosis.missing}


def test_old_nvprof_calls_of_the_host_are_no_kernels_without_their_heading() -> None:
    report = read_report(NVPROF_OLD.replace("==42== API calls:\n", ""))
    assert [profile.kernel for profile in report.profiles] == ["void gemm<float, int=128>", "scale"]


def test_a_part_of_nvprof_keeps_its_column_and_says_what_it_counts() -> None:
    report = read_report(NVPROF_HEAD + "".join(NVPROF_ROWS.splitlines(keepends=True)[:2]))
    assert [profile.value(SHARE) for profile in report.profiles] == [80.0]
    assert any("counts kernels and memory operations together" in note for note in report.notes)


def test_an_nvprof_csv_of_a_spreadsheet_is_read() -> None:
    swapped = [line.replace(",", ";").replace(".", ",") for line in NVPROF_CSV.splitlines()[1:4]]
    (profile,) = read_report("\n".join(swapped).replace("float; int", "float, int").replace("*; int", "*, int") + "\n").profiles
    assert (profile.value(TOTAL), profile.value(DURATION)) == (8_000_000, 2_000_000)


def test_an_nvprof_csv_without_its_units_is_refused_with_the_line() -> None:
    with pytest.raises(InputError, match=r":3: a CSV of nvprof without the row of units under its header"):
        read_report(NVPROF_CSV.replace(",%,ms,,us,us,us,\n", ""))


def test_an_nvprof_row_that_cannot_be_read_is_named_by_its_line() -> None:
    report = read_report(NVPROF_HEAD + NVPROF_ROWS.replace("700.00us  ", "7 bananas "))
    assert [profile.kernel for profile in report.profiles] == ["void gemm<float, int=128>"]
    assert report.notes[-1] == "line 4: 1 row of the table cannot be read as a kernel or a copy, left out"


def test_an_nvprof_summary_of_calls_alone_is_refused() -> None:
    with pytest.raises(InputError, match=r":1: a summary of nvprof without a row of a kernel; give its part GPU activities"):
        read_report(NVPROF_HEAD + NVPROF_CALLS)


def test_nvprof_rows_without_a_header_say_what_to_add_and_metrics_stay_refused() -> None:
    with pytest.raises(InputError, match=r":1: output of nvprof, which is not read: .*add the header line of this summary"):
        read_report(NVPROF_ROWS)
    metrics = "Invocations      Metric Name      Metric Description         Min         Max         Avg\n          2 inst_per_warp\n"
    with pytest.raises(InputError, match=r":4: output of nvprof, which is not read: (?!.*add the header)"):
        read_report(NVPROF_BANNER.replace("NVPROF is", "It is") + metrics)


@pytest.mark.parametrize("text", [column(*TABLES["shapes"]), boxed(*TABLES["mixed"]), comma(*TABLES["executions"]), NVPROF, NVPROF_CSV])
def test_a_cut_summary_is_read_or_refused_and_invents_no_kernel_count(text: str) -> None:
    launches = {profile.invocations for profile in read_report(text).profiles}
    read = 0
    for end in range(0, len(text), 7):
        try:
            report = read_report(text[:end] + "\n")
        except InputError:
            continue
        read += 1
        assert {profile.invocations for profile in report.profiles} <= launches
    assert read

"""Console reports as people paste them: each kind of damage in a few lines."""

from __future__ import annotations

import pytest

from indexer.errors import InputError
from retriever.reports.console import read_console
from retriever.reports.console_events import launch_line, shows_a_launch
from retriever.reports.console_rows import read_cells
from retriever.reports.mend import mended_line
from retriever.reports.names import LABELS
from retriever.reports.profile import Profile
from retriever.reports.profiler_errors import ADVICE, advice
from retriever.reports.read import read_report
from retriever.reports.source import open_source
from retriever.reports.units import STYLE_NOTE, expected_units, is_unit

DURATION = "gpu__time_duration.sum"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
COMPUTE = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
DRAM = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
KERNEL = "  scale(float*, int) (64, 1, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 8.6\n"
SPEED = "    Section: GPU Speed Of Light Throughput\n"


def only(text: str) -> Profile:
    (profile,) = read_report(text).profiles
    return profile


def values(text: str) -> dict[str, float]:
    return {name: metric.value for name, metric in only(text).metrics.items()}


def notes(text: str) -> tuple[str, ...]:
    return tuple(note for note in read_report(text).notes if not note.startswith(STYLE_NOTE))


@pytest.mark.parametrize(
    ("line", "read"),
    [
        (
            "Memory Throughput % 42.5   Compute (SM) Throughput % 12.4",
            [("Memory Throughput", "%", "42.5"), ("Compute (SM) Throughput", "%", "12.4")],
        ),
        ("Duration: 12.80us, DRAM Throughput: 33%", [("Duration", "us", "12.80"), ("DRAM Throughput", "%", "33")]),
        ("- **DRAM Throughput**: 42.5 %  <-- why?", [("DRAM Throughput", "%", "42.5")]),
        ("DRAM Throughput (%): 42.5", [("DRAM Throughput", "%", "42.5")]),
        ("Elapsed Cycles   cycle    13 181 137", [("Elapsed Cycles", "cycle", "13 181 137")]),
        ("Ll/TEX Cache Throughput % 42.5", [("L1/TEX Cache Throughput", "%", "42.5")]),
        ("DRAMThroughput % 42.5", [("DRAM Throughput", "%", "42.5")]),
        ("Block Size 256 Threads 1024", [("Block Size", "", "256"), ("Threads", "", "1024")]),
        ("dram__bytes_op_write.sum    n/a   (!) n/a", [("dram__bytes_op_write.sum", "n/a", "n/a")]),
        ("Memory Throughput % 88.5g", []),
        ("Memory Throughput % l2.5", []),
        ("Memory Throughput is what we want", []),
        ("Duration 12 of the whole run", []),
        ("Duration about 12", []),
        ("Threads Per Block: 256", []),
    ],
)
def test_a_row_is_read_word_by_word_or_not_at_all(line: str, read: list[tuple[str, str, str]]) -> None:
    assert [(cells.label, cells.unit, cells.cell) for cells in read_cells(line, "")] == read


@pytest.mark.parametrize("line", ["Duration: 12.5 ms", "Threads: 256", "Block Size: 64", "Memory Throughput: 812 GB/s"])
def test_what_a_program_prints_inside_another_section_is_not_believed(line: str) -> None:
    assert values(f"{KERNEL}    Section: Occupancy\n{line}\nTheoretical Occupancy % 50\n") == {"sm__maximum_warps_per_active_cycle_pct": 50}


def test_a_heading_without_its_word_opens_the_section() -> None:
    first = "## Memory Workload Analysis\nMemory Throughput Gbyte/s 637.27\n"
    text = f"{KERNEL}{first}**GPU Speed Of Light Throughput**\nMemory Throughput % 42.50\n"
    assert values(text) == {"dram__bytes.sum.per_second": 637.27e9, MEMORY: 42.5}


def test_a_unit_that_was_lost_is_restored_only_where_there_is_one_choice() -> None:
    text = f"{KERNEL}{SPEED}Duration 12.80\nDRAM Throughput 42.50\nSM Frequency 1.98\nElapsed Cycles 1,234\n"
    assert values(text) == {DRAM: 42.5, "gpc__cycles_elapsed.max": 1234}
    assert notes(text) == (
        'line 3: "Duration" left out: no unit, so its scale is not known',
        'line 5: "SM Frequency" left out: no unit, so its scale is not known',
    )


def test_a_unit_of_another_row_is_noticed() -> None:
    text = f"{KERNEL}{SPEED}Duration % 12.80\nDRAM Throughput % 42.50\n"
    assert values(text) == {DRAM: 42.5}
    assert notes(text) == ('line 3: "Duration" left out: unit "%" does not fit',)


def test_a_value_that_cannot_be_read_is_told_with_its_line() -> None:
    text = f"{KERNEL}{SPEED}DRAM Throughput % 4Z.5O\nDuration us 12.80\n"
    assert values(text) == {DURATION: 12800}
    assert notes(text) == ('line 3: the value of "DRAM Throughput" cannot be read: DRAM Throughput % 4Z.5O',)


def test_cells_on_lines_of_their_own_belong_together() -> None:
    text = f"{KERNEL}{SPEED}DRAM Throughput\n%\n42.50\nDuration\nus\n12.80\nSM Frequency\nGhz\nEnd\n"
    assert values(text) == {DRAM: 42.5, DURATION: 12800}
    assert notes(text) == ('line 9: no value behind "SM Frequency"',)


def test_a_number_that_a_window_broke_is_left_out() -> None:
    text = f"{KERNEL}{SPEED}DRAM Throughput % 42.50\nElapsed Cycles cycle 1,894,8\n72\nDuration us 12.80\n"
    assert values(text) == {DRAM: 42.5, DURATION: 12800}
    assert notes(text) == ('line 4: the value of "Elapsed Cycles" is broken over two lines, so it was left out',)


def test_a_last_row_without_a_line_break_counts_only_when_it_is_surely_whole() -> None:
    assert values(f"{KERNEL}{SPEED}DRAM Throughput % 42.50\nDuration us 12.80") == {DRAM: 42.5, DURATION: 12800}
    cut = f"{KERNEL}{SPEED}DRAM Throughput % 42.50\nElapsed Cycles cycle 1,894"
    assert values(cut) == {DRAM: 42.5}
    assert notes(cut) == ('line 4: row cut after "Elapsed Cycles"',)


@pytest.mark.parametrize("width", [40, 60, 71, 75, 80])
def test_a_kernel_line_that_a_window_broke_is_put_together(width: int) -> None:
    line = (
        "  void deep::kernel<float, int (*)(int), 4>(const float *, float *) (64, 2, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 8.6"
    )
    broken = "\n".join(line[at : at + width] for at in range(0, len(line), width))
    profile = only(f"[7] app@127.0.0.1\n{broken}\n{SPEED}DRAM Throughput % 42.50\n")
    assert profile.kernel == "void deep::kernel<float, int (*)(int), 4>"
    assert (profile.grid, profile.block, profile.compute_capability) == ((64, 2, 1), (128, 1, 1), "8.6")


def test_a_kernel_line_cut_for_good_still_begins_a_launch() -> None:
    first, second = read_report(
        f"{KERNEL}{SPEED}DRAM Throughput % 1.00\n  add(int*) (8, 1, 1)x(64, 1, 1), Conte\n{SPEED}DRAM Throughput % 2.00\n"
    ).profiles
    assert (first.value(DRAM), second.value(DRAM)) == (1, 2)
    assert (second.kernel, second.grid, second.compute_capability) == ("add", (8, 1, 1), None)


def test_a_section_that_comes_again_with_other_values_is_another_launch() -> None:
    text = f"{KERNEL}{SPEED}DRAM Throughput % 1.00\n{SPEED}DRAM Throughput % 2.00\n{SPEED}DRAM Throughput % 2.00\n"
    first, second = read_report(text).profiles
    assert (first.kernel, first.value(DRAM), second.kernel, second.value(DRAM)) == ("scale", 1, "", 2)
    assert notes(text) == (
        "line 5: section SpeedOfLight comes again with other values, so another launch begins here; its kernel has no name",
    )


@pytest.mark.parametrize(
    ("line", "name", "grid"),
    [
        ("`void k<(int)16>(float *) (512, 1, 1)x(16, 1, 1), Context 1, Stream 13, Device 0, CC 7.5", "void k<(int)16>", (512, 1, 1)),
        ("### k(int) (1, 1, 1)x(32, 1, 1), Context 1, Stream 7, Device 0, CC 9.0:", "k", (1, 1, 1)),
        ("> k(int) (1, 1, 1)x(32, 1, 1), Device 0, CC 9.0, Invocations 3", "k", (1, 1, 1)),
        ("  (anonymous namespace)::k(int) (1,1,1)x(32,1,1), Context 1, Stream 7, Device 0, CC 9.0", "(anonymous namespace)::k", (1, 1, 1)),
    ],
)
def test_a_decorated_kernel_line_keeps_its_name(line: str, name: str, grid: tuple[int, int, int]) -> None:
    numbers = "1.00 2.00 3.00" if "Invocations" in line else "3.00"
    profile = only(f"{line}\n{SPEED}DRAM Throughput % {numbers}\n")
    assert profile.value(DRAM) == 3
    assert (profile.kernel, profile.grid) == (name, grid)


def test_a_range_and_a_graph_are_no_kernels() -> None:
    body = f"{SPEED}DRAM Throughput % 42.50\n"
    text = f"  Range 1, Context 1, Device 0, CC 8.6\n{body}  Graph 2, Context 1, Stream 13, Device 0, CC 8.6\n{body}{KERNEL}{body}"
    assert [(profile.kernel, profile.workload) for profile in read_report(text).profiles] == [
        ("Range 1", "range"),
        ("Graph 2", "graph"),
        ("scale", "kernel"),
    ]


def test_launches_of_several_processes_know_theirs() -> None:
    body = f"{SPEED}DRAM Throughput % 42.50\n"
    report = read_report(f"[11] app@node1\n{KERNEL}{body}[12] app@node1\n{KERNEL}{body}")
    assert [profile.process_id for profile in report.profiles] == ["11", "12"]


def test_a_summary_without_columns_gives_averages() -> None:
    text = (
        "k(int) (1, 1, 1)x(32, 1, 1), Device 0, CC 9.0, Invocations 3\nSection: GPU Speed Of Light Throughput\nDuration us 4.10 6.30 5.20\n"
    )
    assert values(text) == {DURATION: 5200}


def test_a_french_locale_groups_by_spaces() -> None:
    rows = "Elapsed Cycles   cycle   13 181 137\nSM Active Cycles   cycle   12 837 852,30\nDRAM Throughput   %   84,58\n"
    expected = {"gpc__cycles_elapsed.max": 13181137, "sm__cycles_active.avg": 12837852.3, DRAM: 84.58}
    assert values(KERNEL + SPEED + rows) == expected
    assert (
        values(KERNEL + SPEED + rows.replace("13 181 137", "13\u202f181\u202f137").replace("12 837 852", "12\u202f837\u202f852"))
        == expected
    )


RULES = """The profiler complains:
On average, each warp of this kernel spends 12.7 cycles being stalled waiting for a scoreboard dependency on a L1TEX (local,
global, surface, texture) operation. This stall type represents about 59.0% of the total average of 21.5 cycles between
issuing two instructions.
你们觉得怎么办？
    WRN   The difference between calculated theoretical (100.0%) and measured achieved occupancy (74.8%) can be the
          result of warp scheduling overheads.
Was kann ich tun?
"""


def test_sentences_of_rules_alone_are_a_launch_without_a_name() -> None:
    assert [shows_a_launch(line) for line in RULES.splitlines(keepends=True)] == [False, True, False, False, False, True, False, False]
    (profile,), _ = read_console(open_source(RULES), 9)
    assert [(rule.name, rule.severity) for rule in profile.rules] == [("WarpStateStats", "INF"), ("Occupancy", "WRN")]
    assert profile.rules[0].text.endswith("between issuing two instructions.")
    assert profile.rules[1].text.endswith("result of warp scheduling overheads.")
    assert {name: metric.value for name, metric in profile.metrics.items()} == {
        "sm__maximum_warps_per_active_cycle_pct": 100,
        "sm__warps_active.avg.pct_of_peak_sustained_active": 74.8,
    }


def test_a_table_has_the_word_over_a_sentence() -> None:
    text = f"{KERNEL}    Section: Occupancy\nAchieved Occupancy % 74.84\n\n    OPT   {RULES.splitlines()[5].split('WRN')[1].strip()}\n"
    assert values(text)["sm__warps_active.avg.pct_of_peak_sustained_active"] == 74.84


def test_an_estimate_with_an_exponent_is_an_estimate() -> None:
    profile = only(
        f"{KERNEL}    Section: Occupancy\nTheoretical Occupancy % 50\n    OPT   Est. Speedup: 7.101e-05%\n          Some words.\n"
    )
    assert [(rule.estimated_speedup_pct, rule.text) for rule in profile.rules] == [(7.101e-05, "Some words.")]


@pytest.mark.parametrize(
    "line",
    [
        "int main() {",
        "Duration 12 ms was measured by hand",
        "Memory Throughput is what we want",
        "# Occupancy",
        "the grid (4, 1, 1) is small",
        "if (x) (1, 1, 1);",
        "Compute the product on Device 0, CC 8.6",
    ],
)
def test_prose_and_code_show_no_launch(line: str) -> None:
    assert launch_line(line) is None
    assert not shows_a_launch(line)
    with pytest.raises(InputError, match=r"^report text: no Nsight Compute output in it"):
        read_report(f"{line}\n")


def test_an_error_beside_results_says_what_to_do() -> None:
    line = "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool collects data.\n"
    (note,) = notes(f"{KERNEL}{SPEED}DRAM Throughput % 42.50\n{line}")
    assert note.startswith(f"line 4: {line.strip()} What to do: another profiler holds the counters")


def test_every_known_error_has_its_own_advice() -> None:
    assert [advice(f"==ERROR== {mark} ...") for mark, _ in ADVICE] == [remedy for _, remedy in ADVICE]
    assert advice("==ERROR== something new") is None


@pytest.mark.parametrize(
    ("damaged", "mended"),
    [
        ("> >     Section: Occupancy\n", ("    Section: Occupancy\n",)),
        ("void f&lt;float&gt;(int&amp;)<br>  Section: Occupancy\n", ("void f<float>(int&)\n", "  Section: Occupancy\n")),
        ('{"out": "a\\n    Section: Occupancy\\n"}\n', ('{"out": "a\n', "    Section: Occupancy\n", '"}\n')),
        ("| Duration | us | 12.80 |\n", ("  Duration   us   12.80  \n",)),
        ("# SMs   SM   132\n", ("# SMs   SM   132\n",)),
        ("Memory\u00a0Throughput\u00a0％\u00a042.50\n", ("Memory Throughput % 42.50\n",)),
        ("[code]  \x1b[1mk\x1b[0m(float \\*)[/code]\n", ("  k(float *)\n",)),
        ("    Section: Occupancy\n", ("    Section: Occupancy\n",)),
    ],
)
def test_a_line_loses_what_was_put_around_it(damaged: str, mended: tuple[str, ...]) -> None:
    assert mended_line(damaged) == mended


def test_every_label_reads_as_itself() -> None:
    for (section, label), metric in LABELS.items():
        unit = next((unit for unit in expected_units(metric) if is_unit(unit)), "")
        (cells,) = read_cells(f"    {label}    {unit}   12.50", section)
        assert (cells.label.lower(), cells.unit, cells.cell) == (label.lower(), unit, "12.50")


def test_a_grouped_number_of_blocks_alone_shows_the_locale() -> None:
    text = f"{KERNEL}    Section: Launch Statistics\nGrid Size   1.056\nBlock Size   256\n"
    assert values(text) == {"launch__grid_size": 1056, "launch__block_size": 256}

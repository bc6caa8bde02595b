"""Tables that come again without a heading, and launches that write numbers in different ways, in one paste."""

from __future__ import annotations

from retriever.reports.profile import Report
from retriever.reports.read import read_report

DURATION, CYCLES = "gpu__time_duration.sum", "gpc__cycles_elapsed.max"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
CLOCK = "dram__cycles_elapsed.avg.per_second"
KERNEL = "  {}(float *, int) (64, 1, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 9.0\n"
SPEED = "    Section: GPU Speed Of Light Throughput\n"
DASHES = "    ----------------------- ----------- ------------\n"
HEAD = DASHES + "    Metric Name             Metric Unit Metric Value\n" + DASHES


def rows(clock: str, cycles: str, memory: str, duration: str) -> str:
    named = (("DRAM Frequency", "Ghz", clock), ("Elapsed Cycles", "cycle", cycles), ("Memory Throughput", "%", memory))
    return "".join(f"    {a:<23} {b:>11} {c:>12}\n" for a, b, c in (*named, ("Duration", "us", duration)))


FIRST, SECOND = rows("3.20", "69,570", "66.15", "35.36"), rows("3.20", "24,570", "66.15", "12.20")


def values(report: Report, metric: str = DURATION) -> list[float | None]:
    return [profile.value(metric) for profile in report.profiles]


def test_a_second_table_without_its_heading_is_another_launch_with_its_equal_values() -> None:
    report = read_report(KERNEL.format("scale") + SPEED + HEAD + FIRST + DASHES + "\n" + HEAD + SECOND + DASHES)
    assert values(report) == [35360, 12200]
    assert values(report, CLOCK) == [3.2e9, 3.2e9] and values(report, MEMORY) == [66.15, 66.15]
    assert report.profiles[1].location == "15:1"
    assert any(note.startswith("line 15: section SpeedOfLight comes again with other values") for note in report.notes)


def test_a_metric_that_only_the_second_table_has_is_of_the_second_launch_alone() -> None:
    shorter = "".join(line for line in FIRST.splitlines(True) if "Memory Throughput" not in line)
    report = read_report(KERNEL.format("scale") + SPEED + HEAD + shorter + DASHES + "\n" + HEAD + FIRST.replace("35.36", "12.20") + DASHES)
    assert values(report) == [35360, 12200] and values(report, MEMORY) == [None, 66.15]


def test_a_second_table_that_lost_its_frame_is_another_launch_too() -> None:
    report = read_report(KERNEL.format("scale") + SPEED + HEAD + FIRST + SECOND + FIRST)
    assert values(report) == [35360, 12200, 35360]


def test_a_table_pasted_twice_is_one_launch() -> None:
    report = read_report(KERNEL.format("scale") + SPEED + HEAD + FIRST + DASHES + "\n" + HEAD + FIRST + DASHES)
    assert values(report) == [35360] and report.notes == ()


def test_a_row_that_comes_again_with_another_value_is_said_with_both_lines() -> None:
    report = read_report(
        KERNEL.format("scale") + SPEED + HEAD + FIRST + DASHES + "now:\n    Duration                         us        12.20\n"
    )
    assert values(report) == [35360]
    assert report.notes == ('line 12: "Duration" left out: line 9 has another value of the same launch',)


def test_each_launch_of_a_paste_is_read_by_its_own_decimal_sign() -> None:
    points, commas = rows("3.20", "69,570", "66.15", "12,345.36"), rows("3,20", "69.570", "66,15", "12.345,36")
    for one, other in ((points, commas), (commas, points)):
        report = read_report("".join(KERNEL.format(name) + SPEED + HEAD + table + DASHES for name, table in (("a", one), ("b", other))))
        assert values(report) == [12_345_360, 12_345_360] and values(report, CYCLES) == [69570, 69570]
        assert any("decimal sign" in note and note.startswith("line") for note in report.notes)


def test_a_launch_that_shows_no_decimal_sign_is_read_as_the_others_are() -> None:
    silent = "    Section: Launch Statistics\n" + HEAD + "    Registers Per Thread         register/thread       1.056\n" + DASHES
    text = KERNEL.format("a") + SPEED + HEAD + rows("3,20", "69.570", "66,15", "12.345,36") + DASHES + KERNEL.format("b") + silent
    assert values(read_report(text), "launch__registers_per_thread") == [None, 1056]


def test_each_csv_page_of_a_paste_is_read_by_its_own_decimal_sign() -> None:
    header = '"ID","Kernel Name","Block Size","Grid Size","CC","Section Name","Metric Name","Metric Unit","Metric Value"\n'
    row = '"0","{}","(128, 1, 1)","(64, 1, 1)","9.0","GPU Speed Of Light Throughput","{}","{}","{}"\n'
    pages = (("a", "69,570", "66.15", "12,345.36"), ("b", "69.570", "66,15", "12.345,36"), ("c", "69,570", "66.15", "12,345.36"))
    text = ""
    for kernel, cycles, memory, duration in pages:
        text += header + row.format(kernel, "Elapsed Cycles", "cycle", cycles)
        text += row.format(kernel, "Memory Throughput", "%", memory) + row.format(kernel, "Duration", "us", duration)
    report = read_report(text)
    assert values(report, CYCLES) == [69570] * 3 and values(report) == [12_345_360] * 3
    assert [note.partition(":")[0] for note in report.notes[1:]] == ["line 5", "line 9"]

"""A diff of two reports holds two launches, and neither is taken for the other."""

from __future__ import annotations

import difflib

import pytest

from retriever.reports.profile import Report
from retriever.reports.read import read_report

DURATION = "gpu__time_duration.sum"
DRAM = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
REPORT = """\
  scale(float *, int) (64, 1, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
    Section: GPU Speed Of Light Throughput
    ----------------------- ----------- ------------
    Metric Name             Metric Unit Metric Value
    ----------------------- ----------- ------------
    DRAM Frequency                  Ghz         3.20
    Memory Throughput                 %        66.15
    DRAM Throughput                   %        66.15
    Duration                         us        35.36
    ----------------------- ----------- ------------
"""
FASTER = REPORT.replace("35.36", "21.50").replace(
    "DRAM Throughput                   %        66.15", "DRAM Throughput                   %        91.02"
)
HEADER = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",'
HEADER += '"Section Name","Metric Name","Metric Unit","Metric Value"\n'
ROW = '"0","7","a","b","scale(float *)","1","7","(128, 1, 1)","(64, 1, 1)","0","9.0","GPU Speed Of Light Throughput","Duration","us","{}"\n'


def unified(old: str, new: str, context: int = 3) -> str:
    return "".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "old.txt", "new.txt", n=context))


def durations(report: Report) -> list[tuple[str, float | None]]:
    return [(profile.kernel, profile.value(DURATION)) for profile in report.profiles]


@pytest.mark.parametrize("context", [0, 3, 99])
def test_a_unified_diff_is_read_as_two_launches_and_vs_is_named(context: int) -> None:
    report = read_report(unified(REPORT, FASTER, context))
    assert [value for _, value in durations(report)] == [35360, 21500]
    assert [profile.value(DRAM) for profile in report.profiles] == [66.15, 91.02]
    assert [profile.kernel[:1] for profile in report.profiles] == ["A", "B"]
    assert "a diff of two reports" in report.notes[-1] and "diagnose BEFORE --vs AFTER" in report.notes[-1]


def test_lines_of_a_diff_that_lost_its_heads_are_told_by_one_label_behind_both_signs() -> None:
    bare = "".join(line for line in unified(REPORT, FASTER, 99).splitlines(True) if not line.startswith(("---", "+++", "@@")))
    assert durations(read_report(bare)) == [("A: scale", 35360), ("B: scale", 21500)]
    assert read_report(bare).profiles[1].grid == (64, 1, 1)


def test_what_plain_diff_prints_is_read_the_same_way() -> None:
    text = "9c9\n<     Duration                         us        35.36\n---\n>     Duration                         us        21.50\n"
    head = "".join(REPORT.splitlines(True)[:5])
    assert [value for _, value in durations(read_report(head + text))] == [35360, 21500]


def test_a_diff_of_csv_pages_is_read_with_the_lines_of_the_diff() -> None:
    report = read_report(unified(HEADER + ROW.format("35.36"), HEADER + ROW.format("21.50")))
    assert durations(report) == [("A: scale", 35360), ("B: scale", 21500)]
    assert [profile.location for profile in report.profiles] == ["5:1", "6:1"]


def test_a_diff_that_changes_no_value_is_one_report() -> None:
    report = read_report(unified("notes\n" + REPORT, "other notes\n" + REPORT, 99))
    assert durations(report) == [("scale", 35360)] and not any("diff" in note for note in report.notes)


def test_a_patch_that_adds_a_report_is_one_report() -> None:
    assert durations(read_report(unified("", REPORT))) == [("scale", 35360)]
    assert durations(read_report(unified("# Notes\nold words\n", "# Notes\nnew words\n" + REPORT, 99))) == [("scale", 35360)]


def test_a_list_with_dashes_is_no_diff() -> None:
    text = "  scale(float *, int) (64, 1, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 9.0\n"
    text += "- Duration us 35.36\n- DRAM Throughput % 66.15\n"
    assert durations(read_report(text)) == [("scale", 35360)]

"""Tables of nsys as a spreadsheet of another locale saves them: semicolons or tabs between cells, decimal commas."""

from __future__ import annotations

from retriever.reports.read import read_report

DURATION = "gpu__time_duration.sum"
SUMMARY = """\
Time (%);Total Time (ns);Instances;Avg (ns);Med (ns);Min (ns);Max (ns);StdDev (ns);Name
97,3;1.234.567;12;102.880,6;102.100,0;99.100;120.000;1.234,5;"gemm<float, 4>(float *, int)"
2,7;34.000;2;17.000,0;17.000,0;16.000;18.000;12,5;scale(float *)
"""
TRACE = """\
Start (ns);Duration (ns);CorrId;GrdX;GrdY;GrdZ;BlkX;BlkY;BlkZ;Reg/Trd;StcSMem (MB);DymSMem (MB);Device;Ctx;Strm;Name
1000000;35.360;11;64;1;1;128;1;1;32;0,001;0,000;NVIDIA H200 (0);1;7;scale(float *)
"""


def test_a_summary_with_semicolons_and_decimal_commas_is_read() -> None:
    report = read_report(SUMMARY)
    assert report.layout == "nsys"
    assert [(p.kernel, p.value(DURATION), p.value("trace__launches")) for p in report.profiles] == [
        ("gemm<float, 4>", 102_100, 12),
        ("scale", 17_000, 2),
    ]
    assert report.profiles[0].value("trace__total_ns") == 1_234_567
    assert any("comma is the decimal sign" in note for note in report.notes)


def test_a_trace_with_semicolons_keeps_grid_block_and_shared_memory() -> None:
    (profile,) = read_report(TRACE).profiles
    assert (profile.grid, profile.block, profile.value(DURATION)) == ((64, 1, 1), (128, 1, 1), 35_360)
    assert profile.value("launch__shared_mem_per_block_static") == 1000


def test_tabs_between_cells_and_points_for_decimals_are_read_as_well() -> None:
    text = "Time (%)\tTotal Time (ns)\tInstances\tMed (ns)\tName\n97.3\t1,234,567\t12\t102100.5\tscale(float *)\n"
    (profile,) = read_report(text).profiles
    assert (profile.value(DURATION), profile.value("trace__total_ns")) == (102_100.5, 1_234_567)

"""What a report says outside of its plain rows, and what is left when its frame is lost."""

from __future__ import annotations

import pytest

from indexer.errors import InputError
from retriever.diagnosis import diagnose
from retriever.hot_lines import hot_lines_json
from retriever.json_forms import diagnosis_json
from retriever.reports.profile import Metric, Profile, RuleMessage
from retriever.reports.read import read_report
from retriever.rule_texts import metrics_in_rules
from tests.exports import export

KERNEL = "  k(float *) (8, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0\n"
PIPE = "sm__pipe_{}_cycles_active.avg.pct_of_peak_sustained_elapsed"


def table(*rows: tuple[str, str, str], widths: tuple[int, int, int] = (40, 11, 20)) -> str:
    dashes = "    " + " ".join("-" * width for width in widths) + "\n"
    lines = [f"    {label:<{widths[0]}} {unit:>{widths[1]}} {value:>{widths[2]}}\n" for label, unit, value in rows]
    head = f"    {'Metric Name':<{widths[0]}} {'Metric Unit':>{widths[1]}} {'Metric Value':>{widths[2]}}\n"
    return dashes + head + dashes + "".join(lines) + dashes + "\n"


def metrics(text: str) -> dict[str, float]:
    (profile,) = read_report(KERNEL + text).profiles
    return {name: metric.value for name, metric in profile.metrics.items()}


def test_a_number_broken_over_two_lines_of_its_column_is_put_together() -> None:
    text = table(("lts__t_bytes.sum.per_second", "byte/s", "130,122,360,400,383."), ("", "", "94"), ("lts__t_sectors.sum", "sector", "7"))
    assert metrics(text) == {"lts__t_bytes.sum.per_second": 130122360400383.94, "lts__t_sectors.sum": 7}


def test_a_number_whose_second_line_is_cut_off_is_left_out() -> None:
    whole = KERNEL + table(("sm__cycles_active.avg", "cycle", "9"), ("lts__t_bytes.sum.per_second", "byte/s", "130,122,360,400,383."))
    (profile,) = read_report(whole[: whole.rindex("383.") + 5]).profiles
    assert list(profile.metrics) == ["sm__cycles_active.avg"]


def test_tables_of_one_section_tell_equal_labels_apart() -> None:
    cycles = "    Table Name : Pipe Utilization (% of elapsed cycles)\n" + table(("FMA", "%", "14.50"))
    instructions = "    Table Name : Pipe Utilization (% of peak instructions executed over elapsed cycles)\n" + table(
        ("FMA", "%", "11.67")
    )
    found = metrics("    Section: Compute Workload Analysis\n" + cycles + instructions + table(("FMA", "%", "1.00")))
    assert found[PIPE.format("fma")] == 14.5
    assert found["sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed"] == 11.67


ROLLUPS = tuple(("SM Active Cycles", "cycle", value) for value in ("64.50", "70", "60", "8,514"))


def test_four_rows_of_one_label_are_its_average_maximum_minimum_and_sum() -> None:
    heading = "    Section: GPU and Memory Workload Distribution\n    Table Name : Workload Distribution\n"
    names = [f"sm__cycles_active.{rollup}" for rollup in ("avg", "max", "min", "sum")]
    assert metrics(heading + table(*ROLLUPS)) == dict(zip(names, (64.5, 70, 60, 8514)))
    with pytest.raises(InputError):
        metrics(heading + table(*ROLLUPS[1:]))


def test_rows_of_the_details_page_are_read_without_their_header() -> None:
    rows = export("naive_softmax", "details.csv").splitlines(keepends=True)
    (whole,), (headless,) = read_report("".join(rows)).profiles, read_report("".join(rows[1:])).profiles
    assert {name: metric.value for name, metric in headless.metrics.items()} == {n: m.value for n, m in whole.metrics.items()}
    assert (headless.signature, headless.grid, len(headless.rules)) == (whole.signature, whole.grid, len(whole.rules))


def test_a_paste_of_only_rules_is_read() -> None:
    rule = "For this we got: \n      OPT   This kernel's theoretical occupancy (25.0%) is limited by the number of required registers.\n"
    (profile,) = read_report(rule).profiles
    assert profile.value("sm__maximum_warps_per_active_cycle_pct") == 25


def test_an_error_of_the_profiler_is_answered_with_its_remedy() -> None:
    with pytest.raises(InputError, match="run compute-sanitizer on it first, then profile again"):
        read_report("==PROF== Connected to process 1\n==ERROR== LaunchFailed\n")


def test_a_header_of_a_console_table_with_tabs_is_no_details_page() -> None:
    text = KERNEL + "Section: Launch Statistics\nMetric Name\tMetric Unit\tMetric Value\nRegisters Per Thread\tregister/thread\t40\n"
    report = read_report(text)
    assert (report.layout, report.profiles[0].value("launch__registers_per_thread")) == ("console", 40)


def profile(text: str, **known: float) -> Profile:
    measured = {name.replace("_dot_", "."): Metric(value, "", "1:1") for name, value in known.items()}
    return Profile("k", rules=(RuleMessage("r", "OPT", text),), metrics=measured)


def test_an_excess_above_its_total_is_not_believed() -> None:
    text = "This kernel has uncoalesced global accesses resulting in a total of {} excessive sectors (50% of the total 100 sectors)."
    assert metrics_in_rules(profile(text.format(50)))["memory_l2_theoretical_sectors_global_ideal"] == 50
    assert metrics_in_rules(profile(text.format(101))) == {}


def test_the_pipe_with_most_instructions_is_not_taken_for_the_one_with_most_cycles() -> None:
    text = (
        "Shared is the highest-utilized pipeline (98.6%) based on elapsed cycles in the workload. It's dominated by its Tensor (FP) "
        "sub-pipeline. Based on the number of executed instructions, the highest utilized pipeline (32.9%) is Tensor (FP). It executes."
    )
    assert metrics_in_rules(profile(text)) == {PIPE.format("tensor"): 98.6}


def test_the_busiest_sm_follows_from_the_rule_on_imbalance() -> None:
    text = "One or more SMs have a much higher number of active cycles. Maximum instance value is 20.00% above the average."
    assert metrics_in_rules(profile(text, sm__cycles_active_dot_avg=80)) == {"sm__cycles_active.max": 100}


def test_hot_lines_are_part_of_the_answer_as_json() -> None:
    (lines,) = read_report(
        '"Kernel Name","k(const __nv_bfloat16 *)",\n"Address","Source","# Samples","stall_wait"\n"0x10","FADD R1, R2","8","8"\n'
    ).profiles
    assert diagnosis_json(diagnose(lines, ()), lines)["hot_lines"] == hot_lines_json(lines)
    assert lines.kernel == "k" and lines.lines[0].text == "FADD R1, R2"


def test_a_table_inside_the_details_page_is_not_taken_for_a_cut_row() -> None:
    rows = export("naive_softmax", "details.csv").splitlines(keepends=True)
    at = next(at for at, row in enumerate(rows) if '"Launch Statistics"' in row)
    inner = ['"GPU ID","GPU Name","NUMA ID by CPU Affinity"\n', '"0","NVIDIA H200","0"\n']
    report = read_report("".join([*rows[:at], *inner, *rows[at:]]))
    assert not any("cut" in note for note in report.notes) and len(report.profiles) == 1

"""Forms of Nsight Compute output that public repositories hold; every number and name here is made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.corpus import load_corpus
from indexer.records import GuideRecord
from retriever.diagnosis import diagnose
from retriever.reports.device_names import device_names
from retriever.reports.profile import Profile
from retriever.reports.read import read_report
from retriever.reports.rep_file import _named
from retriever.reports.units import scaled

ROOT = Path(__file__).parents[1]
RULE = "    -------------- ----------- ------------\n"
FAILED = (
    "==ERROR== LaunchFailed\n"
    "  paint(float *, int) (0, 0, 0)x(0, 0, 0), Context 1, Stream 7, Device 0, CC 8.9\n"
    "    Section: GPU Speed Of Light Throughput\n"
    f"{RULE}    Metric Name    Metric Unit Metric Value\n{RULE}"
    f"    Elapsed Cycles       cycle      (!) nan\n    Duration           nsecond      (!) nan\n{RULE}"
)


def asked(name: str, cell: str, unit: str = "") -> str:
    """A launch profiled with `--metrics`, and what the table says of one."""
    head = "  sift(int *) (48, 1, 1)x(96, 1, 1), Context 1, Stream 7, Device 0, CC 8.6\n    Section: Command line profiler metrics\n"
    rule = f"    {'-' * 64} {'-' * 11} {'-' * 12}\n"
    rows = [("Metric Name", "Metric Unit", "Metric Value"), ("smsp__inst_issued.sum", "inst", "3,080"), (name, unit, cell)]
    heading, *body = (f"    {label:64} {of:>11} {value:>12}\n" for label, of, value in rows)
    return f"{head}{rule}{heading}{rule}{''.join(body)}{rule}\n"


def guides() -> list[GuideRecord]:
    return [record for record in load_corpus(ROOT).records.values() if isinstance(record, GuideRecord)]


def test_a_launch_that_failed_has_no_grid_and_no_small_grid() -> None:
    (profile,) = read_report(FAILED).profiles
    assert profile.grid is None and profile.block is None
    assert "launch__grid_size" not in profile.metrics
    assert [found.id for found in diagnose(profile, guides()).bottlenecks] == ["no-usable-data"]


def test_extents_of_zero_in_a_csv_are_no_grid() -> None:
    head = '"ID","Process ID","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name",'
    row = '"0","7","range","1","7","(0, 0, 0)","(0, 0, 0)","0","9.0","GPU Speed Of Light Throughput","Duration","us","41.5"'
    (profile,) = read_report(f'{head}"Metric Name","Metric Unit","Metric Value"\n{row}\n').profiles
    assert profile.grid is None and profile.value("gpu__time_duration.sum") == 41_500


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("dram__throughput.max_pct_of_peak_sustained_elapsed", "dram__throughput.max.pct_of_peak_sustained_elapsed"),
        ("sm_warps_active.avg.pct_of_peak_sustained_active", "two underscores"),
        ("lts__t_sectors_op_dream.sum", "--query-metrics"),
    ],
)
def test_a_name_that_the_profiler_does_not_know_is_said(name: str, hint: str) -> None:
    notes = read_report(asked(name, "(!) n/a")).notes
    assert any(name in note and hint in note for note in notes)


def test_names_with_a_value_in_another_launch_are_not_called_unknown() -> None:
    text = asked("smsp__inst_executed.sum", "(!) n/a") + asked("smsp__inst_executed.sum", "3,072", "inst")
    assert not any("gave no value" in note for note in read_report(text).notes)


@pytest.mark.parametrize(
    ("value", "factor", "whole"), [(33.84, 1e9, 33_840_000_000.0), (16.38, 1e3, 16_380.0), (64.43, 1e9, 64_430_000_000.0)]
)
def test_a_scaled_value_has_nothing_behind_its_last_digit(value: float, factor: float, whole: float) -> None:
    assert scaled(value, factor) == whole


def field(text: str) -> bytes:
    """A string as protocol buffers write it."""
    return bytes([0x0A, len(text)]) + text.encode()


def test_a_binary_report_names_its_gpu_where_no_section_did(tmp_path: Path) -> None:
    path = tmp_path / "run.ncu-rep"
    path.write_bytes(b"NVR\x00" + field("NVIDIA Toy 9000") * 2 + b"j\x01NVIDIA Corporation, all rights" + b"\x00")
    assert device_names(path) == {"NVIDIA Toy 9000"}
    (named,) = _named((Profile(kernel="sift"),), path)
    assert named.device == "NVIDIA Toy 9000"


def test_gpus_of_two_kinds_leave_the_name_open(tmp_path: Path) -> None:
    path = tmp_path / "run.ncu-rep"
    path.write_bytes(field("NVIDIA Toy 9000") + field("NVIDIA Toy 7000"))
    (profile,) = _named((Profile(kernel="sift"),), path)
    assert profile.device is None


CLOCKED = (
    '"ID","Process ID","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","gpc__cycles_elapsed.avg.per_second",'
    '"device__attribute_max_gpu_frequency_khz","sm__throughput.avg.pct_of_peak_sustained_elapsed","gpu__time_duration.sum"\n'
    '"","","","","","","","","","Ghz","","%","us"\n'
)


@pytest.mark.parametrize(("ghz", "named"), [("1.10", False), ("1.60", True), ("1.95", False)])
def test_the_base_clock_that_the_profiler_locks_is_no_throttling(ghz: str, named: bool) -> None:
    text = f'{CLOCKED}"0","7","mill","1","7","(256, 1, 1)","(4096, 1, 1)","0","9.0","{ghz}","2000000","71.5","350.2"\n'
    (profile,) = read_report(text).profiles
    assert ("clock-throttling" in {found.id for found in diagnose(profile, guides()).bottlenecks}) is named

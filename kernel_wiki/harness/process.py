"""A worker as a child process in its own session: whatever it does, the parent gets an answer in bounded time."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .findings import Finding, from_exit

REPOSITORY = Path(__file__).resolve().parents[2]
TAIL_CHARACTERS = 4000
"""Of the worker's output kept for the hint."""


class Worker:
    """One started worker. With `wait` it has imported torch and holds no GPU until `finish`."""

    def __init__(self, request: dict[str, Any], wait: bool = False, wrap: Callable[[list[str]], list[str]] | None = None) -> None:
        """Args: wrap: turns the command line into that of a tool around it; `request["env"]` is added to the environment."""
        self.folder = Path(tempfile.mkdtemp(prefix="warplore-"))
        self.result = self.folder / "result.json"
        request_path = self.folder / "request.json"
        request_path.write_text(json.dumps(request), encoding="utf-8")
        command = [sys.executable, "-m", "kernel_wiki.harness.worker", str(request_path), str(self.result), *(["--wait"] if wait else [])]
        with (self.folder / "output").open("wb") as output:
            self.process = subprocess.Popen(
                wrap(command) if wrap else command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=_environment(request),
                start_new_session=True,
            )

    def finish(self, timeout_s: float) -> dict[str, Any]:
        """The worker's result; of a worker that hangs or dies, the Finding as a rejected result. Nothing of it is left running."""
        self.returncode = -signal.SIGKILL
        try:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.write(b"\n")
                self.process.stdin.close()
            try:
                self.returncode = self.process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                stage, case = self._progress()
                return _rejected(Finding(stage, "hang", f"no answer within {timeout_s:.0f} s in {case or stage}"))
            if self.result.exists():
                return json.loads(self.result.read_text(encoding="utf-8"))
            return _rejected(from_exit(self.returncode, *self._progress(), self.tail()))
        finally:
            self.close()

    def close(self) -> None:
        """Kill the whole session and remove its files."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def tail(self) -> str:
        """The end of what it printed."""
        return (self.folder / "output").read_text(encoding="utf-8", errors="replace")[-TAIL_CHARACTERS:]

    def _progress(self) -> tuple[str, str]:
        """Stage and case it was last in."""
        path = self.result.with_name(self.result.name + ".progress")
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        stage, _, case = lines[-1].partition("\t") if lines else ("static", "", "")
        return stage, case


def _environment(request: dict[str, Any]) -> dict[str, str]:
    """The parent's, with the repository importable and one inductor cache for all; on the CPU Triton interprets."""
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join([str(REPOSITORY), *filter(None, [env.get("PYTHONPATH")])])
    env.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(tempfile.gettempdir()) / "warplore-inductor"))
    env.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # the pool of compilers costs more to start than a baseline's one kernel
    env.pop("TRITON_INTERPRET", None)
    if request["device"] == "cpu" and request["mode"] != "compile":
        env["TRITON_INTERPRET"] = "1"
    return {**env, **request.get("env", {})}


def _rejected(finding: Finding) -> dict[str, Any]:
    return {"verdict": "rejected", **finding.as_dict()}

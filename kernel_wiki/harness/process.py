"""A worker as a child process in its own session: whatever it does, the parent gets an answer in bounded time."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import sandbox
from .findings import Finding, from_exit, rejected

REPOSITORY = Path(__file__).resolve().parents[2]
REFEREES = ("check", "warm", "time")
"""Modes in which the worker holds no candidate."""
TAIL_CHARACTERS = 4000
"""Of the worker's output kept for the hint."""


class Worker:
    """One started worker. With `wait` it has imported torch and holds no GPU until `finish`."""

    def __init__(self, request: dict[str, Any], wait: bool = False, wrap: Callable[[list[str]], list[str]] | None = None) -> None:
        """Args: wrap: turns the command line into that of a tool around it; `request["env"]` is added to the environment."""
        self.folder, self.mode = Path(tempfile.mkdtemp(prefix="warplore-")), request["mode"]
        self.result = self.folder / "result.json"
        request_path = self.folder / "request.json"
        request_path.write_text(json.dumps(request), encoding="utf-8")
        self.secret = "" if wrap else secrets.token_hex(16)  # a tool around it may keep its input
        options = [option for option, wanted in (("--wait", wait), ("--signed", not wrap)) if wanted]
        command = [sys.executable, "-m", "kernel_wiki.harness.worker", str(request_path), str(self.result), *options]
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
        """The worker's result; of one that hangs or dies, the Finding, which rejects where the candidate was in that process and is an
        error of the judge where a referee died. Nothing of it is left running."""
        self.returncode = -signal.SIGKILL
        try:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.write(f"{self.secret}\n".encode())
                self.process.stdin.close()
            try:
                self.returncode = self.process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                stage, case = self._progress()
                finding = Finding(stage, "hang", f"no answer within {timeout_s:.0f} s in {case or stage}", case=case or None)
                return {**self._blame(finding), **self._kept()}
            return self._kept() or self._blame(from_exit(self.returncode, *self._progress(), self.tail()))
        finally:
            self.close()

    def _blame(self, finding: Finding) -> dict[str, Any]:
        if self.mode not in REFEREES:
            return rejected(finding)
        return {**rejected(replace(finding, hint=f"the judge failed, not the candidate: {finding.hint}")), "verdict": "error"}

    def close(self) -> None:
        """Kill the whole session and what descends from it, and remove its files."""
        sandbox.end(self.process)
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def tail(self) -> str:
        """The end of what it printed."""
        with contextlib.suppress(OSError), (self.folder / "output").open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_CHARACTERS))
            return file.read(TAIL_CHARACTERS).decode("utf-8", "replace")
        return ""

    def _kept(self) -> dict[str, Any]:
        """What it had written; nothing if another process wrote that, which cannot know the secret."""
        with contextlib.suppress(OSError, ValueError):
            signature, _, body = self.result.read_text(encoding="utf-8").partition("\n")
            if hmac.compare_digest(signature, sign(body, self.secret)):
                return json.loads(body)
        return {}

    def _progress(self) -> tuple[str, str]:
        """Stage and case it was last in."""
        path = self.result.with_name(self.result.name + ".progress")
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
        stage, _, case = lines[-1].partition("\t") if lines else ("static", "", "")
        return stage, case


def sign(body: str, secret: str) -> str:
    """What a worker writes above its result."""
    return hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()


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

"""Families in processes of their own: a crash or a hang costs the probe that caused it, and the rest of its family goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kernel_wiki.harness.process import REPOSITORY

from . import build
from .probe import AnyProbe, Timing

SILENCE_S = 40
"""A worker that reports nothing for so long is stuck; importing torch and creating a context take some ten seconds."""
RESTARTS = 8
SEMANTICS_JOBS = 8
"""Families that share the GPU while nothing is timed."""
POLL_S = 0.05

Job = list[tuple[str, str]]
"""Probe name and its cubin."""


class Worker:
    """One started process and the file it reports in."""

    def __init__(self, family: str, job: Job, wait: bool) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="warplore-probes-")
        folder = Path(self.folder.name)
        request, self.results = folder / "request.json", folder / "results"
        request.write_text(json.dumps({"family": family, "probes": job}), encoding="utf-8")
        self.output = (folder / "output").open("w+b")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kernel_wiki.probes.worker", str(request), str(self.results), *(["--wait"] if wait else [])],
            stdin=subprocess.PIPE,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])},
            start_new_session=True,
        )

    def finish(self) -> tuple[dict[str, dict[str, Any]], str | None, str]:
        """Results by name, the probe it died or hung in, and why."""
        try:
            self.process.stdin.write(b"go\n")
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        lines, last, reason = [], time.monotonic(), ""
        while True:
            ended = self.process.poll() is not None
            found = self.results.read_text(encoding="utf-8").splitlines() if self.results.exists() else []
            if len(found) > len(lines):
                lines, last = found, time.monotonic()
            if ended:
                break
            if time.monotonic() - last > SILENCE_S:
                reason = f"hang: nothing for {SILENCE_S} s"
                break
            time.sleep(POLL_S)
        return self._read(lines, reason)

    def _read(self, lines: list[str], reason: str) -> tuple[dict[str, dict[str, Any]], str | None, str]:
        events = [json.loads(line) for line in lines]
        results = {event["end"]: event["found"] for event in events if "end" in event}
        begun = [event["begin"] for event in events if "begin" in event]
        self.close()
        stuck = begun[-1] if begun and begun[-1] not in results else None
        if not reason and self.process.returncode:
            reason = f"exit status {self.process.returncode}: {' '.join(self.tail.split())[-300:]}"
        return results, stuck, reason

    def close(self) -> None:
        """End the process group that was started here, and keep the end of its output."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.output.seek(0)
        self.tail = self.output.read().decode("utf-8", "replace")
        self.output.close()
        self.folder.cleanup()


def run_family(family: str, job: Job, worker: Worker | None = None) -> dict[str, dict[str, Any]]:
    """Results of all probes of a job, with as many processes as it takes."""
    results: dict[str, dict[str, Any]] = {}
    for _ in range(RESTARTS):
        left = [(name, cubin) for name, cubin in job if name not in results]
        if not left:
            break
        found, stuck, reason = (worker or Worker(family, left, wait=False)).finish()
        worker = None
        results |= found
        if stuck is not None:
            results[stuck] = {"verdict": "hung" if reason.startswith("hang") else "crashed", "hint": reason}
        elif not found:
            break
    for name, _ in job:
        results.setdefault(name, {"verdict": "not run", "hint": reason or "too many restarts"})
    return results


def run_all(families: dict[str, Sequence[AnyProbe]], target: str, jobs: int, say: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """Probe name to what was found: compiled and counted first, semantics next, times last, with nothing beside them on the GPU."""
    results: dict[str, dict[str, Any]] = {}
    plain: dict[str, Job] = {}
    timed: dict[str, Job] = {}
    opcodes: dict[str, str] = {}
    for unit in build.compile_all(families, target, jobs):
        opcodes |= unit.opcodes
        results |= {name: {"verdict": "folded", "hint": text} for name, text in unit.folded.items()}
        if unit.cubin is None:
            results |= {each.name: {"verdict": "not compiled", "hint": unit.error[:400]} for each in unit.probes}
            continue
        for each in unit.probes:
            if each.name not in unit.folded:
                (timed if isinstance(each, Timing) else plain).setdefault(unit.family, []).append((each.name, str(unit.cubin)))
    say("compiled, machine code counted")
    waiting = {family: Worker(family, job, wait=True) for family, job in timed.items()}
    try:
        with ThreadPoolExecutor(SEMANTICS_JOBS) as pool:
            for found in pool.map(lambda item: run_family(*item), plain.items()):
                results |= found
        say("semantics compared")
        for family in timed:
            found = run_family(family, timed[family], waiting.pop(family))
            results |= {name: {**item, "sass": opcodes[name]} for name, item in found.items()}
            say(f"{family} timed")
    finally:
        for worker in waiting.values():
            worker.close()
    return results

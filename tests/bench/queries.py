"""Times what a user waits for: one-shot search, resident queries, index builds, memory. Prints medians; asserts nothing.

python tests/bench/queries.py [--runs N]
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from indexer.build import build_index
from retriever.service import Warplore

QUESTIONS = (
    ("how do I make my softmax kernel faster", "H200"),
    ("shared memory bank conflicts in a transpose", "A100"),
    ("long scoreboard stalls", "RTX 4090"),
    ("寄存器溢出怎么解决", "H100"),
    ("which instruction copies a tile asynchronously", "B200"),
    ("persistent kernel for many small gemms", "H200"),
)


def milliseconds(started: float) -> float:
    return 1000 * (time.perf_counter() - started)


def one_shot(runs: int) -> list[float]:
    """Whole processes, from start to exit, index warm."""
    command = [sys.executable, "-m", "retriever", "search", QUESTIONS[0][0], "--gpu", "H200"]
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).resolve().parents[2])
        times.append(milliseconds(started))
    return times


def resident(core: Warplore, runs: int) -> list[float]:
    """Questions to a loaded core."""
    times = []
    for turn in range(runs * len(QUESTIONS)):
        text, gpu = QUESTIONS[turn % len(QUESTIONS)]
        started = time.perf_counter()
        core.rank(core.situation(text, gpu=gpu))
        times.append(milliseconds(started))
    return times[len(QUESTIONS) :]


def builds(core: Warplore) -> tuple[float, float]:
    """`(first build, rebuild after one changed file)` in seconds, on a copy of the corpus."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "corpus"
        for name in ("kernel_wiki", "isa", "pr_archive", "skills"):
            shutil.copytree(core.root / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "reports"))
        started = time.perf_counter()
        build_index(copy, Path(folder) / "index", core.encoder)
        first = time.perf_counter() - started
        page = next((copy / "kernel_wiki" / "guides").glob("*.md"))
        page.write_text(page.read_text(encoding="utf-8") + "\nOne more sentence.\n", encoding="utf-8")
        started = time.perf_counter()
        build_index(copy, Path(folder) / "index", core.encoder)
        return first, time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--builds", action="store_true", help="time index builds too (minutes)")
    arguments = parser.parse_args()
    core = Warplore()
    index = core.index
    print(f"{len(index.records)} records, {len(index.chunks)} chunks, {os.cpu_count()} cores")
    times = one_shot(arguments.runs)
    print(f"one-shot search: median {statistics.median(times):.0f} ms of {len(times)}, {min(times):.0f} to {max(times):.0f}")
    times = resident(core, arguments.runs)
    print(f"resident query: median {statistics.median(times):.1f} ms of {len(times)}, {min(times):.1f} to {max(times):.1f}")
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    if arguments.builds:
        first, again = builds(core)
        print(f"first index build: {first:.1f} s; rebuild after one changed file: {again:.2f} s")


if __name__ == "__main__":
    main()

"""Build every evidence kernel, time it, profile its second launch with Nsight Compute, and pack what ncu exports.

Needs a GPU, nvcc and ncu, and nothing beyond Python's standard library. The programs are shared libraries that a process loads a dozen at
a time, since starting one under ncu takes longer than profiling a kernel; one program's failure does not stop the others.

    python kernel_wiki/reports/make_reports.py OUT [--only NAME,NAME...] [--arch 90a] [--keep-reports N]
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
COLLECT = ("--set", "full", "--clock-control", "none", "--profile-from-start", "off")
"""The launch between cudaProfilerStart and cudaProfilerStop, every section, at the clocks the GPU picks by itself."""
EXPORTS = {
    "raw.csv": ("--page", "raw", "--csv"),
    "raw-base.csv": ("--page", "raw", "--csv", "--print-units", "base"),
    "raw.txt": ("--page", "raw"),
    "details.csv": ("--page", "details", "--csv"),
    "details-base.csv": ("--page", "details", "--csv", "--print-units", "base"),
    "details-all.csv": ("--page", "details", "--csv", "--print-details", "all"),
    "details-names.csv": ("--page", "details", "--csv", "--print-metric-name", "name"),
    "details.txt": ("--page", "details"),
    "details-base.txt": ("--page", "details", "--print-units", "base"),
    "details-all.txt": ("--page", "details", "--print-details", "all"),
    "details-label-names.txt": ("--page", "details", "--print-metric-name", "label-name"),
    "summary.csv": ("--page", "details", "--csv", "--print-summary", "per-kernel"),
    "summary.txt": ("--page", "details", "--print-summary", "per-kernel"),
    "source.csv": ("--page", "source", "--csv"),
    "session.txt": ("--page", "session"),
}
"""File to the options of `ncu --import REPORT` that print it."""
GROUP = 10
"""Programs a process."""
TIMEOUT_S = 240
"""For one group; a full collection takes about three seconds a launch."""
ENTRY = "_Z13evidence_mainv"
"""The mangled name of `main`, which nvcc is told to call evidence_main."""
TOOL_PLACES = ("/usr/local/cuda/bin", "/usr/local/bin", "/opt/nvidia/nsight-compute")


@dataclass
class Outcome:
    """How far one kernel came."""

    name: str
    status: str = "built"
    time_us: float | None = None
    """Median of a launch, or of all launches of the work, by CUDA events."""
    work: float = 1
    """What that time is for, in the unit of the kernel's twin."""


@dataclass
class Group:
    """Kernels that one process launched, and its report."""

    report: Path
    outcomes: list[Outcome] = field(default_factory=list)


def main() -> int:
    """Exit code 0 when every kernel has its reports, 1 otherwise."""
    options = _options()
    if options.load:
        return load(options.load)
    names = sorted(path.parent.name for path in HERE.glob("*/*.cu") if path.stem == path.parent.name)
    unknown = sorted(set(options.only) - set(names))
    if unknown or not names:
        print(f"no kernel named {', '.join(unknown)}; known are {', '.join(names)}", file=sys.stderr)
        return 1
    nvcc, ncu = _tool("nvcc"), _tool("ncu")
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count() or 4) as pool:
        work = Path(scratch)
        outcomes = list(pool.map(lambda name: _build(name, work, nvcc, options.arch), options.only or names))
        _say(f"built {sum(outcome.status == 'built' for outcome in outcomes)} of {len(outcomes)}")
        built = [outcome for outcome in outcomes if outcome.status == "built"]
        parts = [built[at : at + GROUP] for at in range(0, len(built), GROUP)]
        for part in parts:
            _time(part, work)
        groups = []
        for number, part in enumerate(parts):
            groups += _profile(part, work / f"group-{number:02}", ncu)
            _say(f"profiled group {number + 1} of {len(parts)}")
        list(pool.map(lambda item: _export(*item, options.out, ncu), [(group, file) for group in groups for file in EXPORTS]))
        _keep_reports(groups[: options.keep_reports], options.out)
    _pack(groups, options, {"gpu": _gpu(), "ncu": _version(ncu), "nvcc": _version(nvcc)})
    for outcome in outcomes:
        print(f"{outcome.name:28} {outcome.time_us or 0:12.1f} us  {outcome.status}")
    return 0 if all(outcome.status == "ok" for outcome in outcomes) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="output folder, for reports.tar.gz")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], help="names of kernels, with commas; all when left out")
    parser.add_argument("--arch", default="90a", help="compute capability to build for, as nvcc writes it")
    parser.add_argument("--keep-reports", type=int, default=0, metavar="N", help="keep N binary reports too (about 2 MB a kernel)")
    parser.add_argument("--load", nargs="+", help=argparse.SUPPRESS)
    return parser.parse_args()


def load(libraries: list[str]) -> int:
    """Run each program in this process, its name before its output."""
    for library in libraries:
        print(f"PROGRAM {Path(library).stem}", flush=True)
        getattr(ctypes.CDLL(library), ENTRY)()
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _tool(name: str) -> str:
    found = shutil.which(name) or next((f"{place}/{name}" for place in TOOL_PLACES if Path(place, name).exists()), None)
    if not found:
        raise SystemExit(f"{name} not found; install the CUDA toolkit or put {name} on PATH")
    return found


def _run(*command: str, timed: bool = False) -> subprocess.CompletedProcess[str]:
    """The finished command; a timeout reads like a failure, with what was printed until then."""
    environment = {**os.environ, "EVIDENCE_TIME": "1"} if timed else None
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, env=environment)
    except subprocess.TimeoutExpired as expired:
        printed = (expired.stdout or b"").decode(errors="replace")
        return subprocess.CompletedProcess(command, 124, printed, f"no answer in {TIMEOUT_S} s")


def _gpu() -> str:
    return _run("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").stdout.partition("\n")[0]


def _version(tool: str) -> str:
    return _last_line(_run(tool, "--version").stdout)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


def _build(name: str, work: Path, nvcc: str, arch: str) -> Outcome:
    flags = ("-O3", "-lineinfo", f"-gencode=arch=compute_{arch},code=sm_{arch}", "-shared", "-Xcompiler", "-fPIC", "-Dmain=evidence_main")
    built = _run(nvcc, *flags, str(HERE / name / f"{name}.cu"), "-o", str(work / f"{name}.so"))
    return Outcome(name, "built" if built.returncode == 0 else f"nvcc failed: {_last_line(built.stderr)}")


def _loading(outcomes: list[Outcome], work: Path) -> list[str]:
    return [sys.executable, __file__, str(work), "--load", *(str(work / f"{outcome.name}.so") for outcome in outcomes)]


def _printed(text: str) -> dict[str, str]:
    """Program to what it printed."""
    parts = re.split(r"^PROGRAM (\w+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def _time(outcomes: list[Outcome], work: Path) -> None:
    """Time a group; after a program that gives no time the rest is tried again in a new process."""
    while outcomes:
        printed = _printed(_run(*_loading(outcomes, work), timed=True).stdout)
        found = [re.search(r"^TIME ([\d.]+) us for ([\d.e+-]+)$", printed.get(outcome.name, ""), re.MULTILINE) for outcome in outcomes]
        bad = next((at for at, match in enumerate(found) if not match), len(outcomes))
        for outcome, match in zip(outcomes[:bad], found):
            outcome.time_us, outcome.work = float(match[1]), float(match[2])
        outcomes = outcomes[bad + 1 :]


def _profile(outcomes: list[Outcome], report: Path, ncu: str) -> list[Group]:
    """Profile a group. After a program that fails the rest is tried again in a new process, since a CUDA error outlives its kernel."""
    groups = []
    while outcomes:
        group = Group(report.with_name(f"{report.name}{'b' * len(groups)}.ncu-rep"))
        ran = _run(ncu, *COLLECT, "-f", "-o", str(group.report), *_loading(outcomes, report.parent))
        printed = _printed(ran.stdout)
        bad = next((at for at, outcome in enumerate(outcomes) if not _is_fine(printed.get(outcome.name, ""))), len(outcomes))
        group.outcomes = outcomes[:bad]
        for outcome in group.outcomes:
            outcome.status = "ok"
        if bad < len(outcomes):
            outcomes[bad].status = f"failed: {_last_line(printed.get(outcomes[bad].name, '')) or _last_line(ran.stderr)}"[:200]
        if group.outcomes and group.report.exists():
            groups.append(group)
        outcomes = outcomes[bad + 1 :]
    return groups


def _is_fine(printed: str) -> bool:
    return re.search(r"^OK$", printed, re.MULTILINE) is not None


def _export(group: Group, file: str, out: Path, ncu: str) -> None:
    exported = _run(ncu, "--import", str(group.report), *EXPORTS[file])
    if exported.returncode != 0:
        _say(f"{group.report.name}: export of {file} failed: {_last_line(exported.stderr or exported.stdout)}")
        return
    folder = out / group.report.stem
    folder.mkdir(exist_ok=True)
    text = exported.stdout.replace(f"{HERE}/", "")
    (folder / file).write_text(text, encoding="utf-8")


def _keep_reports(groups: list[Group], out: Path) -> None:
    for group in groups:
        with tarfile.open(out / f"{group.report.stem}.ncu-rep.tar.xz", "w:xz", preset=1) as archive:
            archive.add(group.report, arcname=group.report.name)


def source_hash(name: str) -> str:
    """Hash of the kernel's source and the header it shares with the others."""
    return hashlib.sha256((HERE / name / f"{name}.cu").read_bytes() + (HERE / "evidence.cuh").read_bytes()).hexdigest()


def _pack(groups: list[Group], options: argparse.Namespace, tools: dict[str, str]) -> None:
    gpu, _, driver = tools.pop("gpu").partition(", ")
    common = {"gpu": gpu, "driver": driver, **tools, "command": f"ncu {' '.join(COLLECT)}", "arch": f"sm_{options.arch}"}
    kernels = {
        outcome.name: {
            "group": group.report.stem,
            "time_us": outcome.time_us,
            "work": outcome.work,
            "source_sha256": source_hash(outcome.name),
        }
        for group in groups
        for outcome in group.outcomes
    }
    manifest = {**common, "date": time.strftime("%Y-%m-%d", time.gmtime()), "kernels": kernels}
    (options.out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    with tarfile.open(options.out / "reports.tar.gz", "w:gz", compresslevel=6) as archive:
        archive.add(options.out / "manifest.json", arcname="manifest.json")
        for group in groups:
            archive.add(options.out / group.report.stem, arcname=group.report.stem)
            shutil.rmtree(options.out / group.report.stem)


if __name__ == "__main__":
    sys.exit(main())

"""Build every evidence kernel, profile its second launch with Nsight Compute, and pack the exported reports.

Needs a GPU, nvcc and ncu, and nothing beyond Python's standard library. One kernel's failure does not stop the others.

    python kernel_wiki/reports/make_reports.py OUT [--only NAME,NAME...] [--arch 90a] [--keep-reports]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
COLLECT = ("--set", "full", "--clock-control", "none", "--launch-skip", "1", "--launch-count", "1")
"""The second launch, every section, at the clocks the GPU picks by itself."""
EXPORTS = {"raw.csv": ("--page", "raw", "--csv"), "details.csv": ("--page", "details", "--csv"), "details.txt": ("--page", "details")}
TIMEOUT_S = 120
"""For one kernel; a full collection takes about three seconds."""
TOOL_PLACES = ("/usr/local/cuda/bin", "/usr/local/bin", "/opt/nvidia/nsight-compute")


@dataclass
class Outcome:
    """How far one kernel came."""

    name: str
    status: str = "built"
    seconds: float = 0.0


def main() -> int:
    """Exit code 0 when every kernel has its reports, 1 otherwise."""
    options = _options()
    names = sorted(path.parent.name for path in HERE.glob("*/*.cu") if path.stem == path.parent.name)
    unknown = sorted(set(options.only) - set(names))
    if unknown or not names:
        print(f"no kernel named {', '.join(unknown)}; known are {', '.join(names)}", file=sys.stderr)
        return 1
    chosen = options.only or names
    nvcc, ncu = _tool("nvcc"), _tool("ncu")
    tools = _describe_tools(nvcc, ncu)
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        work = Path(scratch)
        outcomes = list(pool.map(lambda name: _build(name, work, nvcc, options.arch), chosen))
        for outcome in outcomes:
            if outcome.status == "built":
                _profile(outcome, work, ncu)
        list(pool.map(lambda outcome: _export(outcome, work, ncu, options, tools), outcomes))
    _pack(options.out, [outcome.name for outcome in outcomes])
    print(*(f"{outcome.name:28} {outcome.seconds:6.1f} s  {outcome.status}" for outcome in outcomes), sep="\n")
    return 0 if all(outcome.status == "ok" for outcome in outcomes) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="output folder; reports.tar.gz is written there beside one folder a kernel")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], help="names of kernels, with commas; all when left out")
    parser.add_argument("--arch", default="90a", help="compute capability to build for, as nvcc writes it")
    parser.add_argument("--keep-reports", action="store_true", help="keep the binary .ncu-rep files too (about 2 MB each)")
    return parser.parse_args()


def _tool(name: str) -> str:
    found = shutil.which(name) or next((f"{place}/{name}" for place in TOOL_PLACES if Path(place, name).exists()), None)
    if not found:
        raise SystemExit(f"{name} not found; install the CUDA toolkit or put {name} on PATH")
    return found


def _run(*command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The finished command; a timeout reads like a failure."""
    try:
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no answer in {TIMEOUT_S} s")


def _describe_tools(nvcc: str, ncu: str) -> dict[str, str]:
    query = _run("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").stdout
    gpu, _, driver = query.partition("\n")[0].partition(", ")
    versions = {name: _last_line(_run(path, "--version").stdout) for name, path in (("ncu", ncu), ("nvcc", nvcc))}
    return {"gpu": gpu, "driver": driver} | versions


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


def _build(name: str, work: Path, nvcc: str, arch: str) -> Outcome:
    start = time.monotonic()
    flags = ("-O3", "-lineinfo", f"-gencode=arch=compute_{arch},code=sm_{arch}")
    built = _run(nvcc, *flags, f"{name}.cu", "-o", str(work / name), cwd=HERE / name)
    status = "built" if built.returncode == 0 else f"nvcc failed: {_last_line(built.stderr)}"
    return Outcome(name, status, time.monotonic() - start)


def _profile(outcome: Outcome, work: Path, ncu: str) -> None:
    start = time.monotonic()
    name = outcome.name
    ran = _run(ncu, *COLLECT, "-f", "-o", name, f"./{name}", cwd=work)
    outcome.seconds += time.monotonic() - start
    if "\nOK" not in "\n" + ran.stdout:
        outcome.status = f"the program did not print OK: {_last_line(ran.stdout + ran.stderr)}"
    elif not (work / f"{name}.ncu-rep").exists():
        outcome.status = f"ncu wrote no report: {_last_line(ran.stdout + ran.stderr)}"
    else:
        outcome.status = "profiled"


def _export(outcome: Outcome, work: Path, ncu: str, options: argparse.Namespace, tools: dict[str, str]) -> None:
    if outcome.status != "profiled":
        return
    folder = options.out / outcome.name
    folder.mkdir(exist_ok=True)
    report = work / f"{outcome.name}.ncu-rep"
    for file, page in EXPORTS.items():
        exported = _run(ncu, "--import", str(report), *page)
        if exported.returncode != 0:
            outcome.status = f"export of {file} failed: {_last_line(exported.stderr or exported.stdout)}"
            return
        (folder / file).write_text(exported.stdout.replace(f"{HERE}/", ""), encoding="utf-8")
    if options.keep_reports:
        shutil.copy(report, folder / "report.ncu-rep")
    manifest = tools | {
        "command": f"ncu {' '.join(COLLECT)} -o {outcome.name} ./{outcome.name}",
        "arch": f"sm_{options.arch}",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "source_sha256": source_hash(outcome.name),
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    outcome.status = "ok"


def source_hash(name: str) -> str:
    """Hash of the kernel's source and the header it shares with the others."""
    return hashlib.sha256((HERE / name / f"{name}.cu").read_bytes() + (HERE / "evidence.cuh").read_bytes()).hexdigest()


def _pack(out: Path, names: list[str]) -> None:
    with tarfile.open(out / "reports.tar.gz", "w:gz") as archive:
        for name in names:
            if (out / name).is_dir():
                archive.add(out / name, arcname=name)


if __name__ == "__main__":
    sys.exit(main())

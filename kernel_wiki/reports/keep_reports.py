"""Take what make_reports.py packed into the repository. Needs no GPU.

    python kernel_wiki/reports/keep_reports.py OUT/reports.tar.gz
    python kernel_wiki/reports/keep_reports.py                      # the columns of `raw.csv` anew, from the exports that are kept

Each kernel's folder gets `raw.csv`, the raw page as ncu printed it but for the columns that nothing here reads, and `manifest.json`.
Every export form of all kernels goes to `exports/<run>/<form>.xz`, whole: the readers and the diagnosis are measured on these.
A later run over some of the kernels adds a folder; the manifests say which run is a kernel's own, and runs that are nobody's are removed.
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import re
import shutil
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXPORTS = HERE / "exports"
IDENTITY = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC")
NOT_KEPT = ("session.txt",)
"""It describes the host, and names no kernel."""
KEPT = re.compile(
    r"launch__\w+|smsp__average_warps?_\w+\.ratio|derived__\w+\.?\w*|memory_\w+"
    r"|device__attribute_(display_name|compute_capability_\w+|multiprocessor_count|clock_rate|max_\w+_khz|l2_cache_size|ecc_enabled)"
    r"|sm(sp)?__sass_thread_inst_executed_op_[fdh](add|mul|fma)_pred_on\.sum\.(per_cycle_elapsed|peak_sustained)"
    r"|(smsp|sm|dram|lts)__cycles_elapsed\.avg(\.per_second)?|dram__bytes(_read|_write)?\.sum(\.peak_sustained|\.per_second)?"
    r"|sm__ops_path_tensor_src_\w+\.sum(\.per_second)?|sm__ops_path_tensor_op_\w+\.sum\.peak_sustained_elapsed\.per_second"
    r"|derived__lts__lts2xbar_bytes\.sum\.peak_sustained|l1tex__m_(xbar2l1tex_read|l1tex2xbar_write)_bytes\.sum"
    r"|l1tex__(t_sectors|t_requests|data_pipe_lsu_wavefronts|data_bank_conflicts)_pipe_lsu_mem_\w+\.sum"
)
"""Families of metrics that the plots and the comparison read by pattern."""


def main(arguments: list[str]) -> int:
    """Exit code 0 when something was kept."""
    if not arguments:
        return renew()
    with tarfile.open(arguments[0]) as archive:
        files = {member.name: archive.extractfile(member).read().decode() for member in archive.getmembers() if member.isfile()}
    manifest = json.loads(files.pop("manifest.json"))
    kernels = manifest.pop("kernels")
    run = str(1 + max((int(path.name) for path in EXPORTS.glob("[0-9]*")), default=0))
    wanted = read_metrics()
    raw = {name: rows for group, text in sorted(files.items()) if group.endswith("/raw.csv") for name, rows in launches(text)}
    for name, found in kernels.items():
        (HERE / name / "raw.csv").write_text(compact(raw[name], wanted), encoding="utf-8")
        text = json.dumps({**manifest, **found, "exports": run}, indent=1)
        (HERE / name / "manifest.json").write_text(text + "\n", encoding="utf-8")
    keep_exports(files, EXPORTS / run)
    for old in sorted(unused()):
        shutil.rmtree(EXPORTS / old)
    print(f"{len(kernels)} kernels kept, exports in {(EXPORTS / run).relative_to(ROOT)}")
    return 0 if kernels else 1


def renew() -> int:
    """Every compact page from the exports of its run."""
    wanted = read_metrics()
    runs = {path.parent.name: json.loads(path.read_text(encoding="utf-8"))["exports"] for path in HERE.glob("*/manifest.json")}
    for run in sorted({*runs.values()}):
        pages = lzma.decompress((EXPORTS / run / "raw.csv.xz").read_bytes()).decode()
        for name, rows in launches(pages):
            if runs.get(name) == run:
                (HERE / name / "raw.csv").write_text(compact(rows, wanted), encoding="utf-8")
    print(f"{len(runs)} compact pages renewed")
    return 0 if runs else 1


def read_metrics() -> set[str]:
    """The metric names that guides, readers, plots and comparison name."""
    sys.path.insert(0, str(ROOT))
    from retriever.reports.names import LABELS, RAW_NAME

    sources = [*(ROOT / "retriever").rglob("*.py"), *(ROOT / "kernel_wiki" / "guides").glob("*.md")]
    return set(LABELS.values()) | {name for path in sources for name in RAW_NAME.findall(path.read_text(encoding="utf-8"))}


def launches(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Kernel name without arguments to header, units and row of its launch; `text` may hold several raw pages."""
    header: list[str] = []
    for row in csv.reader(line for line in text.splitlines() if line.startswith('"')):
        if row[0] == "ID":
            header, units = row, []
        elif not units:
            units = row
        else:
            yield re.split(r"[<(]", row[header.index("Kernel Name")].removeprefix("void "))[0], [header, units, row]


def compact(rows: list[list[str]], wanted: set[str]) -> str:
    """A raw page with the columns that are read; all cells quoted, as ncu does."""
    kept = [at for at, name in enumerate(rows[0]) if name in IDENTITY or name in wanted or KEPT.fullmatch(name)]
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([row[at] for at in kept] for row in rows)
    return out.getvalue()


def keep_exports(files: dict[str, str], folder: Path) -> None:
    """Each form of all groups in one file, in the order of the groups."""
    folder.mkdir(parents=True)
    for form in sorted({name.partition("/")[2] for name in files} - {*NOT_KEPT}):
        text = "".join(files[name] for name in sorted(files) if name.partition("/")[2] == form)
        (folder / f"{form}.xz").write_bytes(lzma.compress(text.encode(), preset=6))


def unused() -> set[str]:
    """Runs that no kernel's manifest names."""
    used = {json.loads(path.read_text(encoding="utf-8")).get("exports") for path in HERE.glob("*/manifest.json")}
    return {path.name for path in EXPORTS.glob("[0-9]*")} - used


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

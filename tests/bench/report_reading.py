"""Times the reading of reports and measures its peak memory, on files it writes itself. Asserts nothing.

python tests/bench/report_reading.py [--mb N] [--report FILE ...]

The raw page has 2,238 metric columns and distinct values in every row, which no cache helps with; the details text has every label
that the reader knows and the rules between them. Each file is read in a process of its own: `start-up` is the same process without a
report, `peak` its largest resident memory less that of start-up.
"""

from __future__ import annotations

import argparse
import gzip
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from retriever.reports.names import LABELS, SECTION_IDS

COLUMNS = 2238  # of an H200's raw page with --set full
LAUNCHES = 22
RULE = (
    "    OPT   Est. Speedup: 12.5%\n"
    "          This kernel waits for memory more often than it computes; on average each warp of this kernel spends {cycles:.1f} cycles\n"
    "          being stalled waiting for a scoreboard dependency on a L1TEX operation.\n"
)
PROBE = """
import resource, sys, time
from retriever.reports.read import read_report
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, started = peak(), time.perf_counter()
launches = len(read_report(sys.argv[1]).profiles) if len(sys.argv) > 1 else 0
print(launches, time.perf_counter() - started, peak() - before)
"""


def raw_rows(rows: int, generator: random.Random) -> Iterator[str]:
    """A raw page with `rows` launches."""
    identity = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size"]
    names = [*identity, "Device", "CC", *(f"unit{at % 9}__quantity_{at}.avg" for at in range(COLUMNS))]
    units = [""] * 11 + [("", "%", "Gbyte/s", "us", "inst")[at % 5] for at in range(COLUMNS)]
    yield quoted(names)
    yield quoted(units)
    for row in range(rows):
        launch = [str(row), "1", "app", "host", f"kernel_{row % 40}(float *)", "1", "7", "(256, 1, 1)", "(132, 1, 1)", "0", "9.0"]
        yield quoted([*launch, *(f"{generator.random() * 10_000:,.2f}" for _ in range(COLUMNS))])


def quoted(cells: list[str]) -> str:
    return '"' + '","'.join(cells) + '"\n'


def details_text(size_bytes: int, generator: random.Random) -> Iterator[str]:
    """Console text of so many launches that it has the size."""
    titles = {identifier: title for title, identifier in reversed(SECTION_IDS.items())}
    sections: dict[str, list[str]] = {}
    for section, label in LABELS:
        sections.setdefault(section, []).append(label)
    written = launch = 0
    while written < size_bytes:
        head = f"  kernel_{launch % 40}(float *, int) (132, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0\n"
        text = head + "".join(section_text(titles[name], labels, generator) for name, labels in sections.items())
        written, launch = written + len(text), launch + 1
        yield text


def section_text(title: str, labels: list[str], generator: random.Random) -> str:
    dashes = f"    {'-' * 45} {'-' * 11} {'-' * 14}\n"
    rows = "".join(f"    {label:45} {'':11} {generator.random() * 1e4:14,.2f}\n" for label in labels)
    head = f"    Section: {title}\n{dashes}    {'Metric Name':45} {'Metric Unit':11} {'Metric Value':>14}\n{dashes}"
    return f"{head}{rows}{dashes}\n{RULE.format(cycles=generator.random() * 30)}\n"


def write(path: Path, parts: Iterator[str]) -> Path:
    """The file, written piece by piece."""
    with path.open("w", encoding="utf-8") as out:
        out.writelines(parts)
    return path


def probe(path: Path | None) -> tuple[int, float, float]:
    """`(launches, seconds, MiB)` of one process that reads `path`."""
    command = [sys.executable, "-c", PROBE, *([str(path)] if path else [])]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).resolve().parents[2])
    launches, seconds, mib = done.stdout.split()
    return int(launches), float(seconds), float(mib)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=100, help="size of the large files in MB")
    parser.add_argument("--report", type=Path, nargs="*", default=[], help="further reports to read, .ncu-rep too")
    options = parser.parse_args()
    generator = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        row_bytes = sum(map(len, raw_rows(20, generator))) // 20
        files = [
            write(place / f"{LAUNCHES}_launches.csv", raw_rows(LAUNCHES, generator)),
            write(place / "large_raw.csv", raw_rows(options.mb * 10**6 // row_bytes, generator)),
            write(place / "large_details.txt", details_text(options.mb * 10**6, generator)),
        ]
        packed = place / "large_raw.csv.gz"
        with files[1].open("rb") as plain, gzip.open(packed, "wb", compresslevel=1) as out:
            shutil.copyfileobj(plain, out)
        print(f"{'report':28} {'MB':>7} {'launches':>9} {'seconds':>8} {'MB/s':>6} {'peak MiB':>9}")
        for path in (*files, packed, *options.report):
            launches, seconds, mib = probe(path)
            size = path.stat().st_size / 1e6
            print(f"{path.name:28} {size:7.1f} {launches:9} {seconds:8.2f} {size / seconds:6.1f} {mib:9.0f}")


if __name__ == "__main__":
    main()

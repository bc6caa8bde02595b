"""One kernel's part of the kept exports, as ncu would print it for a report of that kernel alone."""

from __future__ import annotations

import csv
import io
import json
import lzma
import re
from functools import cache
from pathlib import Path

from tests.corpora import REPOSITORY

REPORTS = REPOSITORY / "kernel_wiki" / "reports"
KERNEL_LINE = re.compile(r"^  (?:void )?(\w+)[<(].*, Device \d+, CC \d+\.\d+(?:, Invocations \d+)?\n", re.MULTILINE)
PROCESS_LINE = re.compile(r"^\[\d+\] \S+\n", re.MULTILINE)


def export(kernel: str, form: str) -> str:
    """The text of one kernel in an export form: `details.txt`, `details.csv`, `raw.csv` and their variants."""
    return _split(json.loads((REPORTS / kernel / "manifest.json").read_text(encoding="utf-8"))["exports"], form)[kernel]


def write_export(folder: Path, kernel: str, form: str) -> Path:
    """That text as a file."""
    path = folder / f"{kernel}-{form}"
    path.write_text(export(kernel, form), encoding="utf-8")
    return path


@cache
def _split(run: str, form: str) -> dict[str, str]:
    text = lzma.decompress((REPORTS / "exports" / run / f"{form}.xz").read_bytes()).decode()
    return _tables(text) if form.endswith(".csv") else _sections(text)


def _sections(text: str) -> dict[str, str]:
    """Each kernel line with what stands below it, under the process line of its group."""
    found: dict[str, str] = {}
    processes = [(match.start(), match[0]) for match in PROCESS_LINE.finditer(text)]
    marks = [*KERNEL_LINE.finditer(text)]
    for mark, following in zip(marks, [*marks[1:], None]):
        body = text[mark.start() : following.start() if following else len(text)]
        process = [line for start, line in processes if start < mark.start()][-1]
        found[mark[1]] = process + PROCESS_LINE.sub("", body)
    return found


def _tables(text: str) -> dict[str, str]:
    """Header (and units) with the rows of each kernel."""
    found: dict[str, list[str]] = {}
    head: list[str] = []
    for line in text.splitlines(keepends=True):
        if line.startswith(('"ID"', '"Process ID"')):
            head, column = [line], next(csv.reader(io.StringIO(line))).index("Kernel Name")
        elif line.startswith('""'):
            head.append(line)
        elif line.startswith('"'):
            name = re.split(r"[<(]", next(csv.reader(io.StringIO(line)))[column].removeprefix("void "))[0]
            found.setdefault(name, [*head]).append(line)
    return {name: "".join(lines) for name, lines in found.items()}

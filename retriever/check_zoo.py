"""What is wrong with the zoo: pages, records, lineage, wrong variants, and places that are still to be written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from kernel_wiki.harness import discover
from kernel_wiki.harness.discover import Entry
from retriever.lineage import lineage_problems
from retriever.zoo_new import placeholders
from retriever.zoo_wrong import disagreements, wrong_rows

WRONG_VARIANTS = 2  # at least, for every operator
SOURCES = (".py", ".cu", ".cuh", ".md")


def zoo_problems(root: Path) -> Iterator[str]:
    """`path:line: message` for every operator: each implementation has a page, a fresh accepted record and a sound parent."""
    zoo = root / "kernel_wiki" / "zoo"
    for operator in discover.operators(zoo):
        folder = f"kernel_wiki/zoo/{operator}"
        wrong = discover.wrong_variants(operator, zoo)
        if len(wrong) < WRONG_VARIANTS:
            yield f"{folder}/contract.py:1: {len(wrong)} wrong variants; an operator needs {WRONG_VARIANTS}"
        for entry in discover.implementations(operator, zoo):
            yield from _implementation(entry, zoo, folder)
        yield from (f"{folder}/{name}.md:1: {problem}" for name, problem in lineage_problems(operator, zoo))
        yield from (f"{folder}/{row['name']}.py:1: {problem}" for row in wrong_rows(zoo, operator) for problem in disagreements(row))
        for path in sorted(path for path in (zoo / operator).iterdir() if path.suffix in SOURCES):
            for line, what in placeholders(path):
                yield f"{folder}/{path.name}:{line}: not written yet: {what}"


def _implementation(entry: Entry, zoo: Path, folder: str) -> Iterator[str]:
    where = f"{folder}/{entry.name}"
    if not entry.source.with_suffix(".md").is_file():
        yield f"{where}.py:1: no page beside it; write {entry.name}.md"
    status = discover.record_status(entry.operator, entry.name, zoo=zoo)
    if status.status != "valid":
        renew = f"warplore zoo validate {entry.id}"
        yield f"{where}.md:1: validation record {status.status} ({status.reason}); renew it on a GPU: {renew} [--host user@machine]"
    compiled = discover.record_path(entry.operator, entry.name, discover.COMPILE_FOLDER, zoo)
    fresh = compiled.is_file() and json.loads(compiled.read_text(encoding="utf-8"))["hashes"] == discover.entry_hashes(entry)
    if not fresh:
        state = "stale" if compiled.is_file() else "missing"
        yield f"{where}.md:1: compile record {state}; renew it: python -m kernel_wiki.harness compile {entry.id}"

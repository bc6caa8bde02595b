"""The zoo's wrong variants: what each does wrong, what the judge must say to it, and what it said. Imports none of them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernel_wiki.harness import discover
from kernel_wiki.harness.discover import Entry

OPENING = re.compile(r"Wrong on purpose[,:] ")
"""What the docstring of a wrong variant starts with; the table leaves it out."""


def wrong_rows(zoo: Path, operator: str | None = None) -> list[dict[str, Any]]:
    """One row a variant: what it does, the expected stage and category, and what each GPU's record found."""
    return [
        _row(zoo, entry) for name in ([operator] if operator else discover.operators(zoo)) for entry in discover.wrong_variants(name, zoo)
    ]


def disagreements(row: dict[str, Any]) -> Iterator[str]:
    """What a maintainer must mend: no expectation stated, or a fresh record that found something else."""
    if row["expected"] is None:
        yield 'states no REJECTED_AS = ("stage", "category")'
        return
    for found in row["found"]:
        said = [found["stage"], found["category"]]
        if not found["fresh"] or found["verdict"] == "unfinished":  # the GPU time was spent: `zoo wrong` shows what is open
            continue
        if found["verdict"] != "rejected":
            yield f"{found['gpu']} accepted it; the contract of {row['operator']} is too weak"
        if said != row["expected"] and found["verdict"] == "rejected":
            yield f"REJECTED_AS is {'/'.join(row['expected'])}, but {found['gpu']} found {'/'.join(map(str, said))}"


def _row(zoo: Path, entry: Entry) -> dict[str, Any]:
    docstring, expected = _read(entry.source)
    return {
        "id": f"zoo/{entry.id}",
        "operator": entry.operator,
        "name": entry.name,
        "does": OPENING.sub("", docstring.strip().split("\n")[0]),
        "expected": expected,
        "found": [
            found for path in sorted((zoo / entry.operator / "validation").glob("*/wrong.json")) if (found := _found(path, zoo, entry))
        ],
    }


def _read(source: Path) -> tuple[str, list[str] | None]:
    """Docstring and REJECTED_AS of a module that may be broken on purpose."""
    from kernel_wiki.harness.static import expected_rejection

    stated = expected_rejection(source)
    try:
        docstring = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    except SyntaxError:
        docstring = "does not parse"
    return docstring, list(stated) if stated else None


def _found(path: Path, zoo: Path, entry: Entry) -> dict[str, Any] | None:
    page = json.loads(path.read_text(encoding="utf-8"))
    variant = page["variants"].get(entry.name)
    if variant is None:
        return None
    now = discover.source_hashes(entry.operator, entry.name, zoo)
    fresh = all(page["hashes"].get(name) == digest for name, digest in now.items())
    return {"gpu": page["gpu"]["name"], "fresh": fresh, **{key: variant.get(key) for key in ("verdict", "stage", "category", "hint")}}

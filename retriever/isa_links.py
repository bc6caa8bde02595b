"""Instructions counted in a kernel's listing, linked to their pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import yaml

from indexer.errors import CorpusError
from indexer.front_matter import split_front_matter
from indexer.isa_examples import isa_pages, page_mnemonics
from retriever.isa_sass import is_form
from retriever.kernels.facts import Fact, KernelFacts

SASS_TABLE = "isa/sass.yaml"
MAX_LINKED = 24
"""Instructions that a situation lists."""


@lru_cache(maxsize=4)
def sass_table(root: Path) -> dict[str, dict[str, str]]:
    """Opcode to `isa` (page id), `what` it does, and `seen` where that was in a listing only; empty for a corpus without the table.

    Raises:
        CorpusError: the file is broken.
    """
    if not (root / SASS_TABLE).is_file():
        return {}
    try:
        rows = yaml.safe_load((root / SASS_TABLE).read_text(encoding="utf-8"))["opcodes"]
        return {name: {key: str(row[key]) for key in ("isa", "what", "seen") if key in row or key != "seen"} for name, row in rows.items()}
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise CorpusError([f"{SASS_TABLE}:1: cannot be read ({error})"]) from error


def sass_page(opcode: str, table: dict[str, dict[str, str]]) -> dict[str, str] | None:
    """The row of the longest name whose parts stand in the opcode in order: `LDG.CONSTANT` holds for `LDG.E.128.CONSTANT`."""
    parts = opcode.split(".")
    fits = [name for name in table if name.split(".")[0] == parts[0] and _in_order(name.split(".")[1:], parts[1:])]
    return table[max(fits, key=lambda name: (name.count("."), name))] if fits else None


def _in_order(wanted: Sequence[str], parts: Sequence[str]) -> bool:
    rest = iter(parts)
    return all(part in rest for part in wanted)


@lru_cache(maxsize=4)
def _mnemonics(root: Path) -> tuple[tuple[str, str], ...]:
    """`(mnemonic, id)` of every page, the longest mnemonic first; a broken page is left out."""
    found = []
    for id, path in isa_pages(root).items():
        try:
            split_front_matter(path.read_text(encoding="utf-8"), path.name)
            found += [(mnemonic, id) for mnemonic in page_mnemonics(path)]
        except (CorpusError, OSError, yaml.YAMLError):
            continue
    return tuple(sorted(found, key=lambda pair: (-pair[0].count("."), pair)))


def ptx_page(form: str, root: Path) -> str | None:
    """The page of a spelled-out PTX instruction: that of the longest mnemonic in it."""
    return next((id for mnemonic, id in _mnemonics(root) if is_form(form, [mnemonic])), None)


def linked(facts: KernelFacts, root: Path) -> KernelFacts:
    """The facts with each counted instruction named by its page, pages of several opcodes together, the most frequent first."""
    if not facts.instructions:
        return facts
    table = sass_table(root) if any(fact.id[:1].isupper() for fact in facts.instructions) else {}
    pages: dict[str, list[tuple[int, Fact]]] = {}
    for fact in facts.instructions:
        page = (row["isa"] if (row := sass_page(fact.id, table)) else None) if fact.id[:1].isupper() else ptx_page(fact.id, root)
        if page:
            pages.setdefault(page, []).append((int(fact.why.split()[0]), fact))
    ordered = sorted(pages.items(), key=lambda item: (-sum(count for count, _ in item[1]), item[0]))
    return replace(
        facts,
        instructions=tuple(
            Fact(page, min(fact.line for _, fact in found), ", ".join(f"{count} x {fact.id}" for count, fact in found[:3]))
            for page, found in ordered[:MAX_LINKED]
        ),
    )

"""The list of which page covers which section of the PTX ISA."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.errors import CorpusError
from retriever.isa_coverage import COVERAGE, coverage_problems, coverage_table, load_coverage

ROOT = Path(__file__).resolve().parent.parent
HEAD = "schema: 1\nsources: [{title: t}]\n"


def corpus(folder: Path, text: str, *pages: str) -> Path:
    """A corpus with these instruction pages, empty, and that table."""
    for page in pages:
        path = folder / f"{page}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("---\n---\n", encoding="utf-8")
    (folder / "isa").mkdir(exist_ok=True)
    (folder / COVERAGE).write_text(HEAD + text, encoding="utf-8")
    return folder


def test_every_id_of_the_table_exists_and_every_page_stands_in_it():
    assert coverage_problems(ROOT) == []


def test_no_section_stands_twice_in_a_family_under_another_spelling():
    names = [(family, section.lower()) for family, section, _ in load_coverage(ROOT).sections()]
    assert len(names) == len(set(names)) > 300


def test_the_readme_shows_the_counts_as_they_are():
    shown = (ROOT / "isa" / "README.md").read_text(encoding="utf-8").split("<!-- coverage -->")[1].split("<!-- /coverage -->")[0]
    assert shown.strip() == coverage_table(ROOT)


def test_an_unknown_id_an_unmapped_page_and_an_unexplained_gap_are_told(tmp_path):
    text = "instructions: {f: {a: [isa/x/a, isa/x/b], gap: null}}\nbeside instructions: {}\nmissing: {a: because}\nbeside: {}\n"
    assert coverage_problems(corpus(tmp_path, text, "isa/x/a", "isa/x/c")) == [
        f"{COVERAGE}:1: a is under missing, but is no section without a page",
        f"{COVERAGE}:1: gap has no page and no reason under missing",
        f"{COVERAGE}:1: isa/x/b has no page",
        f"{COVERAGE}:1: isa/x/c stands in no section; map it, or list it under beside with the reason",
    ]


def test_the_table_counts_sections_and_pages_once(tmp_path):
    text = (
        "instructions: {f: {a: [isa/x/a], b: [isa/x/a, isa/x/b], gap: null}}\n"
        "beside instructions: {g: {c: [isa/x/c]}}\nmissing: {gap: new}\nbeside: {}\n"
    )
    assert coverage_table(corpus(tmp_path, text)).splitlines()[2:] == [
        "| f | 3 | 2 | 2 | `gap` |",
        "| **all instructions** | 3 | 2 | 2 | 1 |",
        "| g | 1 | 1 | 1 | - |",
    ]


def test_a_broken_table_is_a_fault_of_the_corpus(tmp_path):
    with pytest.raises(CorpusError, match=r"isa/coverage\.yaml:1"):
        load_coverage(corpus(tmp_path, "instructions: 7\n"))

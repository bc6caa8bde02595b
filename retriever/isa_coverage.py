"""Which sections of the PTX ISA have a page: `isa/coverage.yaml`, read, checked and counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, ValidationError

from indexer.errors import CorpusError
from indexer.isa_examples import isa_pages
from indexer.schema import Source, Strict, Text

COVERAGE = "isa/coverage.yaml"
Families = dict[Text, dict[Text, tuple[Text, ...] | None]]


class Coverage(Strict):
    """The whole of coverage.yaml."""

    schema_version: Annotated[int, Field(alias="schema", ge=1, le=1)]
    sources: Annotated[tuple[Source, ...], Field(min_length=1)]
    instructions: Families
    """Family to section, named by mnemonic, to the pages that cover it; None where there is none."""
    others: Annotated[Families, Field(alias="beside instructions")]
    """The same for what is no instruction: special registers, directives, state spaces and the like."""
    missing: dict[Text, Text]
    """Why a section has no page."""
    beside: dict[Text, Text]
    """Pages that no section stands for, and why they exist."""

    def sections(self) -> Iterator[tuple[str, str, tuple[str, ...] | None]]:
        """`(family, section, pages)` of every section, in file order."""
        for families in (self.instructions, self.others):
            for family, sections in families.items():
                yield from ((family, section, pages) for section, pages in sections.items())


def load_coverage(root: Path) -> Coverage:
    """The table of coverage.

    Raises:
        CorpusError: the file is missing or breaks its schema.
    """
    try:
        return Coverage.model_validate(yaml.safe_load((root / COVERAGE).read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError, ValidationError) as error:
        raise CorpusError([f"{COVERAGE}:1: {error}"]) from error


def coverage_problems(root: Path) -> list[str]:
    """Ids without a page, pages without a section, and gaps without a reason, sorted."""
    coverage, pages = load_coverage(root), isa_pages(root)
    named = {id for _, _, ids in coverage.sections() for id in ids or ()} | set(coverage.beside)
    gaps = {section for _, section, ids in coverage.sections() if not ids}
    return sorted(
        [f"{COVERAGE}:1: {id} has no page" for id in named - set(pages)]
        + [f"{COVERAGE}:1: {id} stands in no section; map it, or list it under beside with the reason" for id in set(pages) - named]
        + [f"{COVERAGE}:1: {section} has no page and no reason under missing" for section in gaps - set(coverage.missing)]
        + [f"{COVERAGE}:1: {section} is under missing, but is no section without a page" for section in set(coverage.missing) - gaps]
    )


def coverage_table(root: Path) -> str:
    """Sections, sections with a page, and pages by family, as a markdown table with the sums of instructions and of all."""
    coverage = load_coverage(root)
    rows = ["| family | sections | with a page | pages | without |", "|---|---|---|---|---|"]
    rows += [_row(family, sections) for family, sections in coverage.instructions.items()]
    rows.append(_row("**all instructions**", _joined(coverage.instructions)))
    rows += [_row(family, sections) for family, sections in coverage.others.items()]
    return "\n".join(rows)


def _joined(families: Families) -> dict[str, tuple[str, ...] | None]:
    return {f"{family} {section}": pages for family, sections in families.items() for section, pages in sections.items()}


def _row(family: str, sections: dict[str, tuple[str, ...] | None]) -> str:
    held = {id for pages in sections.values() for id in pages or ()}
    gaps = [section for section, pages in sections.items() if not pages]
    named = ", ".join(f"`{section}`" for section in gaps) if not family.startswith("**") else str(len(gaps))
    return f"| {family} | {len(sections)} | {len(sections) - len(gaps)} | {len(held)} | {named or '-'} |"

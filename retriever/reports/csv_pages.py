"""The CSV pages of Nsight Compute, whatever mix of them one file holds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from retriever.reports.csv_rows import VALUE_COLUMNS, Row, header_of, is_identity, page_of, rows
from retriever.reports.details_page import DetailsPage
from retriever.reports.draft import Notes
from retriever.reports.profile import Profile, ProfilesAndNotes
from retriever.reports.raw_page import RawPage
from retriever.reports.source import TextSource
from retriever.reports.source_lines import Block, with_lines
from retriever.reports.source_page import SAMPLE_COLUMNS, SourcePage
from retriever.reports.units import NumberStyle, number_style

STYLE_SAMPLE_ROWS = 4000  # rows of a page read for the number style; beyond it a file without one telling number is not worth a pass


def read_csv(source: TextSource, first: int) -> ProfilesAndNotes:
    """Profiles and notes of every raw, details and source page from line `first` on, in order."""
    profiles, blocks, notes, style = read_pages(source, first)
    return tuple(with_lines(profiles, blocks, notes)), (style.note, *notes.finish())


def read_pages(source: TextSource, first: int) -> tuple[list[Profile], list[Block], Notes, NumberStyle]:
    """The launches of the raw and details pages, the blocks of the source page, the notes, and how numbers are written."""
    style = number_style(_value_cells(source, first))
    notes = Notes()
    profiles: list[Profile] = []
    lines = SourcePage(style)
    page: RawPage | DetailsPage | SourcePage | None = None
    for row in rows(source, first):
        if row.is_header:
            profiles += page.finish() if isinstance(page, (RawPage, DetailsPage)) else ()
            page = _page(row, style, notes, lines)
        elif page or (header := header_of(row.cells)):
            page = page or DetailsPage(Row(row.line, header, is_header=True), style, notes)
            page.add(row)
    profiles += page.finish() if isinstance(page, (RawPage, DetailsPage)) else ()
    return profiles, lines.blocks, notes, style


def _page(header: Row, style: NumberStyle, notes: Notes, lines: SourcePage) -> RawPage | DetailsPage | SourcePage:
    kind = page_of(header.cells)
    if kind == "csv-source":
        lines.head(header)
        return lines
    return RawPage(header, style, notes) if kind == "csv-raw" else DetailsPage(header, style, notes)


def _value_cells(source: TextSource, first: int) -> Iterator[str]:
    """The cells that hold metric values, for finding out the number style."""
    fields: list[int] = []
    for row in islice(rows(source, first), STYLE_SAMPLE_ROWS):
        if row.is_header:
            kind = page_of(row.cells)
            fields = [at for at, name in enumerate(row.cells) if _holds_values(name, str(kind))]
        else:
            fields = fields or [at for at, name in enumerate(header_of(row.cells) or []) if name == "Metric Value"]
            yield from (row.cells[at] for at in fields if at < len(row.cells))


def _holds_values(column: str, page: str) -> bool:
    if page == "csv-raw":
        return not is_identity(column)
    return column in (VALUE_COLUMNS if page == "csv-details" else SAMPLE_COLUMNS)

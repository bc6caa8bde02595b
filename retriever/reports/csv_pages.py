"""The CSV pages of Nsight Compute, whatever mix of them one file holds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, groupby, islice

from retriever.reports.csv_rows import VALUE_COLUMNS, Row, header_of, is_identity, page_of, rows
from retriever.reports.details_page import DetailsPage
from retriever.reports.draft import Notes
from retriever.reports.profile import Profile, ProfilesAndNotes
from retriever.reports.raw_page import RawPage
from retriever.reports.source import TextSource
from retriever.reports.source_lines import Block, with_lines
from retriever.reports.source_page import SAMPLE_COLUMNS, SourcePage
from retriever.reports.units import NumberStyle, number_style, own_style

STYLE_SAMPLE_ROWS = 4000  # rows of a page read for the number style; beyond it a file without one telling number is not worth a pass
PAGE_SAMPLE_CELLS = 20_000  # a guess: cells of one page looked at for its own style, some rows of a raw page and a launch of a details page


def read_csv(source: TextSource, first: int) -> ProfilesAndNotes:
    """Profiles and notes of every raw, details and source page from line `first` on, in order."""
    profiles, blocks, notes, style = read_pages(source, first)
    return tuple(with_lines(profiles, blocks, notes)), (style.note, *notes.finish())


def read_pages(source: TextSource, first: int) -> tuple[list[Profile], list[Block], Notes, NumberStyle]:
    """The launches of the raw and details pages, the blocks of the source page, the notes, and how numbers are written."""
    style = number_style(_value_cells(rows(source, first)))
    notes = Notes()
    profiles: list[Profile] = []
    lines = SourcePage(style)
    before = style.decimal
    for header, found in _pages(rows(source, first)):
        sample = list(islice(found, 1 + PAGE_SAMPLE_CELLS // len(header.cells)))
        own = own_style(_value_cells(iter((header, *sample))), style)
        if own.decimal != before:
            notes.add(header.line, f"from here on {own.note}")
        before, page = own.decimal, _page(header, own, notes, lines)
        for row in chain(sample, found):
            page.add(row)
        profiles += page.finish() if isinstance(page, (RawPage, DetailsPage)) else ()
    return profiles, lines.blocks, notes, style


def _pages(found: Iterator[Row]) -> Iterator[tuple[Row, Iterator[Row]]]:
    """Each header with the rows under it; rows above the first get the header that they lost, from the first that shows it."""
    seen = 0

    def page_number(row: Row) -> int:
        nonlocal seen
        seen += row.is_header
        return seen

    for _, group in groupby(found, page_number):
        under = iter(group)
        for row in under:
            if row.is_header:
                yield row, under
            elif header := header_of(row.cells):
                yield Row(row.line, header, is_header=True), chain((row,), under)


def _page(header: Row, style: NumberStyle, notes: Notes, lines: SourcePage) -> RawPage | DetailsPage | SourcePage:
    kind = page_of(header.cells)
    if kind == "csv-source":
        lines.head(header)
        return lines
    return RawPage(header, style, notes) if kind == "csv-raw" else DetailsPage(header, style, notes)


def _value_cells(found: Iterator[Row]) -> Iterator[str]:
    """The cells that hold metric values, for finding out the number style."""
    fields: list[int] = []
    for row in islice(found, STYLE_SAMPLE_ROWS):
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

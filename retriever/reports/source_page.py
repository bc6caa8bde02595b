"""The source page as CSV (`--page source --csv`): lines of code or instructions with their counters, block after block.

Layouts, by header and not by version. Seen in public scripts and their tests; the first is from a real file of about 2023:
- instructions: `"Kernel Name","k(...)",` then `"Address","Source",...,"# Samples",...,"stall_barrier",...,"stall_barrier (Not Issued)"`;
- source: `"#","Address","Source","Warp Stall Sampling (All Samples)",...` with an empty address;
- both (`--print-source cuda,sass`): `"File Path",...`, `"Function Name",...`, then `"Line No","Source","Address","Source","# Samples",...`
  where a line's own row has `-` for the address and the rows of its instructions have no line number.
Assumed: a kernel that inlines code of several files has a block for each, and the same file and function again is the next launch.
"""

from __future__ import annotations

from retriever.reports.csv_rows import Fields, Row, source_title
from retriever.reports.profile import SourceLine
from retriever.reports.source_lines import Block, by_count
from retriever.reports.stall_names import SAMPLED_REASONS, sampled_reason
from retriever.reports.units import NumberStyle

SAMPLE_COLUMNS = ("# Samples", "Warp Stall Sampling (All Samples)", "Warp Stall Sampling (All Cycles)", "Sampling Data (All)")
"""Columns with all samples of a line; the one found first counts. Old versions sampled cycles and called them so."""

WGMMA = "warpgroup_arrive"
"""The one reason that the page has no column for (2025.3.1, CC 9.0): what is left of a line's samples when all others are taken away. On
138 launches of an H200 that is its counter, sample for sample."""

LINE_COLUMNS = ("Line No", "Line", "#")
NO_ADDRESS = ("", "-")


class SourcePage:
    """Takes titles, headers and rows as they come."""

    def __init__(self, style: NumberStyle):
        self.blocks: list[Block] = []
        self._style = style
        self._kernel, self._file, self._next_file = "", "", ""
        self._files: set[str] = set()
        self._by_kernel = False
        self._columns: _Columns | None = None

    def head(self, row: Row) -> None:
        """Takes a title (`"Kernel Name","k"`) or a row of column names."""
        title = source_title(row.cells)
        if title is None:
            self._take_file()
            self._columns = _Columns(row.cells)
            if not self.blocks:
                self._begin("", row.line)
            return
        self._columns = None
        if title[0] == "Kernel Name":
            self._by_kernel = True
            self._begin(title[1], row.line)
        elif title[0] == "Function Name":
            self._function(title[1], row.line)
        else:
            self._next_file = title[1]

    def add(self, row: Row) -> None:
        """Takes one line of code."""
        line = self._columns.line(row, self._file, self._style) if self._columns else None
        if line:
            self.blocks[-1].add(line)

    def _function(self, name: str, line: int) -> None:
        """Begins a block, unless this is one more file of the launch that is being read."""
        more = name == self._kernel and self._next_file and self._next_file not in self._files
        if not self._by_kernel and not more:
            self._begin(name, line)
        self._take_file()

    def _begin(self, kernel: str, line: int) -> None:
        self._kernel, self._files = kernel, set()
        self.blocks.append(Block(kernel, f"{line}:1"))

    def _take_file(self) -> None:
        self._file = self._next_file or self._file
        self._files.add(self._file)
        self._next_file = ""


class _Columns:
    """Where a block's header has what."""

    def __init__(self, names: list[str]):
        self._fields = Fields(names)
        self._address = names.index("Address") if "Address" in names else None
        self._line = next((names.index(name) for name in LINE_COLUMNS if name in names), None)
        self._samples = next((names.index(name) for name in SAMPLE_COLUMNS if name in names), None)
        self._stalls = {at: reason for at, name in enumerate(names) if (reason := sampled_reason(name))}
        self._without_wgmma = set(SAMPLED_REASONS) - set(self._stalls.values()) == {WGMMA}
        sources = [at for at, name in enumerate(names) if name == "Source"]
        self._source = sources[0] if sources else len(names)
        self._instruction = sources[-1] if sources else len(names)

    def line(self, row: Row, file: str, style: NumberStyle) -> SourceLine | None:
        """The line of a row; None when it has no samples or was cut."""
        if row.cut:
            return None
        cells = self._fields.padded(row.cells)
        stalls = {reason: count for at, reason in self._stalls.items() if (count := _count(cells[at], style))}
        samples = _count(cells[self._samples], style) if self._samples is not None else sum(stalls.values())
        if not samples:
            return None
        if self._without_wgmma and (rest := samples - sum(stalls.values())) > 0:
            stalls[WGMMA] = rest
        address = cells[self._address] if self._address is not None and cells[self._address] not in NO_ADDRESS else ""
        number = cells[self._line] if self._line is not None and not address else ""
        return SourceLine(
            samples=samples,
            stalls=by_count(stalls),
            text=cells[self._instruction if address else self._source],
            file="" if address else file,
            line=int(number) if number.isdigit() else 0,
            address=address,
            location=f"{row.line}:{(self._samples or 0) + 1}",
        )


def _count(cell: str, style: NumberStyle) -> int:
    value = style.number(cell)
    return round(value) if value is not None and value > 0 else 0

"""Records to chunks: one heading's own section or one whole code unit, short enough for the encoder.

The chunks of a file partition its lines: joined in order they give the file back.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from indexer.records import Record, ZooRecord

CODE_SUFFIXES = (".py", ".cu")
FRONT_MATTER = ("front matter",)
_FENCE = re.compile(r"^(```|~~~).*?^\1[^\S\n]*$\n?", re.MULTILINE | re.DOTALL)
_LEAST_PROSE = 80  # characters; a shorter rest is a heading and a caption
_CHARS_PER_TOKEN = 2  # lower bound for WordPiece on code and prose: shorter texts are never counted, only longer ones


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of whole lines of one corpus file."""

    record_id: str
    path: str
    start: int
    """First line, from 1."""
    end: int
    """Last line, included."""
    trail: tuple[str, ...]
    """Headings above it, outermost first; for code, the unit's name."""
    text: str
    context: str
    """What the encoder reads before the text: the record's title and the trail."""

    @property
    def id(self) -> str:
        """`record id#path suffix:start`, unique in a corpus."""
        return f"{self.record_id}#{Path(self.path).suffix}:{self.start}"

    @property
    def location(self) -> str:
        return f"{self.path}:{self.start}-{self.end}"

    @property
    def searched_text(self) -> str:
        """What the term index reads."""
        return f"{self.context}\n{self.text}"

    @property
    def embedded_text(self) -> str:
        """What the encoder reads: the prose. Code is matched by its terms alone, since encoding is most of the time of a first build."""
        return f"{self.context}\n{_FENCE.sub('', self.text)}" if self.path.endswith(".md") else ""

    @property
    def is_prose(self) -> bool:
        """Whether enough prose is left to be embedded."""
        return len(self.embedded_text) - len(self.context) > _LEAST_PROSE or self.trail == FRONT_MATTER

    @property
    def digest(self) -> str:
        """Hash of what the encoder reads; equal digests have equal vectors."""
        return hashlib.sha256(self.embedded_text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class _Block:
    start: int
    end: int
    trail: tuple[str, ...]


def chunk_record(record: Record, root: Path, max_tokens: int, count_tokens: Callable[[str], int]) -> list[Chunk]:
    """The chunks of a record's page and, for an implementation or an attempt, of its source files."""
    page = root / record.path
    chunks = _chunk_file(record, record.path, page.read_text(encoding="utf-8"), markdown_blocks, max_tokens, count_tokens)
    if isinstance(record, ZooRecord):
        for suffix in CODE_SUFFIXES:
            source = page.with_suffix(suffix)
            if source.is_file():
                path = source.relative_to(root).as_posix()
                splitter = python_blocks if suffix == ".py" else cuda_blocks
                chunks += _chunk_file(record, path, source.read_text(encoding="utf-8"), splitter, max_tokens, count_tokens)
    return chunks


def _chunk_file(
    record: Record, path: str, text: str, blocks: Callable[[str], list[_Block]], max_tokens: int, count_tokens: Callable[[str], int]
) -> list[Chunk]:
    lines = text.splitlines(keepends=True)
    chunks = []
    for block in _merge(blocks(text), lines, max_tokens, count_tokens, record.title):
        body = "".join(lines[block.start - 1 : block.end])
        if block.trail == FRONT_MATTER:
            context, body_read = f"{record.title}\n{record.summary}", ""
        else:
            context, body_read = " > ".join((record.title, *block.trail)), body
        chunks.append(Chunk(record.id, path, block.start, block.end, block.trail, body_read or body, context))
    return chunks


def _merge(blocks: list[_Block], lines: list[str], max_tokens: int, count_tokens: Callable[[str], int], title: str) -> Iterator[_Block]:
    """Neighbouring blocks of one section joined while they fit; a block that alone is too long split at line ends."""

    def fits(start: int, end: int, trail: tuple[str, ...]) -> bool:
        text = " > ".join((title, *trail)) + "\n" + "".join(lines[start - 1 : end])
        return len(text) <= max_tokens * _CHARS_PER_TOKEN or count_tokens(text) <= max_tokens

    current: _Block | None = None
    for block in blocks:
        if current and current.trail == block.trail and fits(current.start, block.end, block.trail):
            current = _Block(current.start, block.end, block.trail)
            continue
        if current:
            yield current
        start = block.start
        for line in range(block.start + 1, block.end + 1):
            if not fits(start, line, block.trail):
                yield _Block(start, line - 1, block.trail)
                start = line
        current = _Block(start, block.end, block.trail)
    if current:
        yield current


def markdown_blocks(text: str) -> list[_Block]:
    """Front matter, then every top-level markdown block with the headings above it, covering all lines."""
    lines = text.splitlines(keepends=True)
    front_end = _front_matter_end(lines)
    blocks = [_Block(1, front_end, FRONT_MATTER)] if front_end else []
    starts: list[tuple[int, tuple[str, ...]]] = []
    trail: list[tuple[int, str]] = []
    tokens = MarkdownIt("commonmark").enable("table").parse("".join(lines[front_end:]))
    for position, token in enumerate(tokens):
        if token.level or not token.map or token.nesting < 0:
            continue
        if token.type == "heading_open":
            level = int(token.tag[1])
            trail = [*((depth, name) for depth, name in trail if depth < level), (level, tokens[position + 1].content)]
        starts.append((token.map[0] + front_end + 1, tuple(name for _, name in trail)))
    for (start, names), following in zip(starts, [*(s for s, _ in starts[1:]), len(lines) + 1]):
        blocks.append(_Block(start if blocks else 1, following - 1, names))
    return _close_gaps(blocks, len(lines))


def python_blocks(text: str) -> list[_Block]:
    """Top-level functions and classes of a Python file, and what stands between them, covering all lines."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return _close_gaps([_Block(1, 1, ())], len(text.splitlines()))
    units = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            units.append((first, node.end_lineno or node.lineno, (node.name,)))
    return _between(units, text.splitlines())


def cuda_blocks(text: str) -> list[_Block]:
    """Top-level functions of a CUDA C++ file, and what stands between them, covering all lines."""
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    tree = Parser(Language(tree_sitter_cuda.language())).parse(text.encode())
    units = []
    for node in _function_nodes(tree.root_node):
        name = node.child_by_field_name("declarator")
        while name is not None and name.child_by_field_name("declarator") is not None:
            name = name.child_by_field_name("declarator")
        label = name.text.decode(errors="replace") if name is not None and name.text else "function"
        units.append((node.start_point.row + 1, node.end_point.row + 1, (label,)))
    return _between(units, text.splitlines())


def _function_nodes(node) -> Iterator:
    for child in node.children:
        if child.type in ("function_definition", "template_declaration"):
            inner = [c for c in child.children if c.type == "function_definition"]
            yield inner[0] if child.type == "template_declaration" and inner else child
        elif child.type in ("linkage_specification", "declaration_list", "namespace_definition"):
            yield from _function_nodes(child)


def _between(units: list[tuple[int, int, tuple[str, ...]]], lines: list[str]) -> list[_Block]:
    """Blocks for the units and for the lines between them; blank lines go with what stands before."""
    blocks: list[_Block] = []
    line = 1
    for start, end, trail in units:
        if start < line:
            continue
        if any(text.strip() for text in lines[line - 1 : start - 1]):
            blocks.append(_Block(line, start - 1, ()))
        blocks.append(_Block(start, end, trail))
        line = end + 1
    if not blocks or any(text.strip() for text in lines[line - 1 :]):
        blocks.append(_Block(line, len(lines), ()))
    return _close_gaps(blocks, len(lines))


def _close_gaps(blocks: list[_Block], line_count: int) -> list[_Block]:
    """The blocks stretched so that each starts where the one before ends and the last ends at `line_count`."""
    starts = [1, *(block.start for block in blocks[1:]), line_count + 1]
    return [_Block(start, following - 1, block.trail) for block, start, following in zip(blocks, starts, starts[1:]) if following > start]


def _front_matter_end(lines: list[str]) -> int:
    """Number of lines that the front matter takes, 0 without one."""
    if not lines or lines[0] != "---\n":
        return 0
    return next((number for number, line in enumerate(lines[1:], start=2) if line == "---\n"), 0)

"""A user's own copy of NVIDIA's PTX ISA manual: read from its HTML into a private file, searched beside our pages.

The copy stays in the user's data folder, readable by its owner alone; nothing of it enters the repository, the index or an answer of
another user. The standard library's `html.parser` reads it: the manual is one file without broken nesting to repair, it is read once,
and a faster parser would be one more dependency for that.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html.parser import HTMLParser
from pathlib import Path

import platformdirs

from indexer.errors import InputError

SCHEMA = 1
FILE_NAME = "ptx-isa.json"
MAX_BYTES = 128 * 2**20  # the manual of 9.x is about 10 MB of HTML
EXCERPT_CHARS = 1_200
LABEL = "from your own copy"
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = ("p", "li", "tr", "dt", "dd", "div", "table", "ul", "ol", "br", "section")
_SKIPPED = ("script", "style", "nav", "head", "footer")
_VOID = ("br", "img", "hr", "meta", "link", "input", "col", "wbr")


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the manual."""

    anchor: str
    title: str
    level: int
    """1 to 6, of its heading."""
    text: str


class _Reader(HTMLParser):
    """Collects sections: a heading, the nearest anchor around or on it, and the text up to the next heading."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.sections: list[tuple[str, list[str], int, list[str]]] = []
        self._open: list[tuple[str, str]] = []
        self._heading = 0
        self._skip = 0
        self._pre = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fields = {key: value or "" for key, value in attrs}
        if tag in _VOID:
            self._text("\n" if tag == "br" else "")
            return
        hidden = tag in _SKIPPED or (tag == "a" and "headerlink" in fields.get("class", ""))
        self._open.append((f"!{tag}" if hidden else tag, fields.get("id", "")))
        self._skip += hidden
        self._pre += tag == "pre"
        if tag in _HEADINGS and not self._skip:
            self._heading = int(tag[1])
            anchor = fields.get("id") or next((id for _, id in reversed(self._open) if id), "")
            self.sections.append((anchor, [], self._heading, []))
        elif tag in _BLOCKS or tag == "pre":
            self._text("\n")
        elif tag in ("td", "th"):
            self._text(" | ")

    def handle_endtag(self, tag: str) -> None:
        names = [name.lstrip("!") for name, _ in self._open]
        if tag not in names:
            return
        while self._open:  # closes what was left open inside, as a browser does
            name, _ = self._open.pop()
            self._skip -= name.startswith("!")
            self._pre -= name.lstrip("!") == "pre"
            if name.lstrip("!") in _HEADINGS:
                self._heading = 0
            if name.lstrip("!") == tag:
                break
        if tag in _BLOCKS or tag == "pre":
            self._text("\n")

    def handle_data(self, data: str) -> None:
        self._text(data if self._pre else re.sub(r"\s+", " ", data))

    def _text(self, data: str) -> None:
        if self.sections and not self._skip:
            self.sections[-1][1 if self._heading else 3].append(data)


def read_manual(text: str) -> list[Section]:
    """The sections of an HTML text that have an anchor and a title; empty ones too, since they head others."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    found = []
    for anchor, title, level, parts in reader.sections:
        named = re.sub(r"\s+", " ", "".join(title)).strip(" ¶\uf0c1")
        if anchor and named:
            found.append(Section(anchor, named, level, re.sub(r"\n\s*\n+", "\n", "".join(parts)).strip()))
    return found


def data_folder() -> Path:
    """Where private data belongs: `$WARPLORE_DATA`, or the user's data folder."""
    return Path(os.environ.get("WARPLORE_DATA") or platformdirs.user_data_dir("warplore"))


def import_manual(path: Path, folder: Path) -> list[Section]:
    """Read the manual's HTML at `path` and keep its sections in `folder`, in place of an earlier copy.

    Raises:
        InputError: it cannot be read, is too large, is no such HTML, or the folder cannot be written.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give the HTML file of the PTX ISA manual")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if len(data) > MAX_BYTES:
        raise InputError(f"{path}: {len(data) / 2**20:.0f} MiB; the manual is smaller than {MAX_BYTES // 2**20} MiB")
    sections = [] if b"\0" in data else read_manual(data.decode("utf-8", errors="replace"))
    if not sections:
        raise InputError(f"{path}: no section with an anchor and a heading; save the PTX ISA manual's page as HTML and give that file")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        target = folder / FILE_NAME
        draft = target.with_suffix(".new")
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
            json.dump({"schema": SCHEMA, "sections": [asdict(section) for section in sections]}, stream, ensure_ascii=False)
        draft.replace(target)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); set WARPLORE_DATA to a writable folder") from error
    return sections


def load_manual(folder: Path) -> tuple[Section, ...]:
    """The kept sections; none where nothing was imported.

    Raises:
        InputError: the file is damaged.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        return ()
    try:
        form = json.loads(path.read_text(encoding="utf-8"))
        if form["schema"] != SCHEMA:
            raise ValueError(f"schema {form['schema']}, not {SCHEMA}")
        return tuple(Section(**section) for section in form["sections"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: damaged ({error}); import the manual again with `warplore isa import FILE`, or delete it") from error


def sections_on(names: Sequence[str], sections: Sequence[Section], limit: int = 1) -> list[Section]:
    """The sections whose title names one of the mnemonics, the closest first; failing that, those whose code begins with it."""
    ranked: list[tuple[tuple, Section]] = []
    for place, section in enumerate(sections):
        words = re.findall(r"[\w.:]+", section.title.lower())
        for order, name in enumerate(name.lower() for name in names):
            if name in words:
                ranked.append(((0, order, len(words), place), section))
            elif re.search(rf"^\s*{re.escape(name)}(?![\w])", section.text.lower(), re.M):
                ranked.append(((1, order, len(section.text), place), section))
    unique = dict.fromkeys(section for _, section in sorted(ranked, key=lambda pair: pair[0]) if section.text)
    return list(unique)[:limit]


def search_manual(text: str, sections: Sequence[Section], limit: int = 3) -> list[Section]:
    """The sections that share most with a question: rare words count more, words of the title thrice; none below half of the words."""
    wanted = dict.fromkeys(re.findall(r"\w[\w.:]*\w", text.lower()))
    pages = [(Counter(re.findall(r"\w[\w.:]*\w", s.text.lower())), set(re.findall(r"\w[\w.:]*\w", s.title.lower()))) for s in sections]
    rarity = {word: math.log(1 + len(sections) / (1 + sum(word in body or word in title for body, title in pages))) for word in wanted}
    scored = []
    for place, (section, (body, title)) in enumerate(zip(sections, pages)):
        shared = [word for word in wanted if word in body or word in title]
        score = sum(rarity[word] * (3 if word in title else 1) for word in shared)
        if wanted and 2 * len(shared) >= len(wanted) and section.text:
            scored.append((-score, place, section))
    return [section for _, _, section in sorted(scored, key=lambda entry: entry[:2])[:limit]]


def own_sections(text: str) -> list[dict[str, str]]:
    """What the user's own copy has on a question, labelled as such; empty without a copy."""
    found = search_manual(text, load_manual(data_folder())) if text.strip() else []
    return [{"label": LABEL, "anchor": section.anchor, "title": section.title} for section in found]


def copy_text(sections: Sequence[Section]) -> str:
    """Sections as markdown, plainly labelled."""
    parts = []
    for section in sections:
        text = section.text[:EXCERPT_CHARS].rstrip() + (" ..." if len(section.text) > EXCERPT_CHARS else "")
        quoted = "\n".join(f"> {line}" for line in text.splitlines())
        parts.append(f'## {LABEL}: "{section.title}" (#{section.anchor})\n\n{quoted}')
    return "\n\n".join(parts)

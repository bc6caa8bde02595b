"""Where the text of a report comes from: a file, read line by line, or a string."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from indexer.errors import InputError

HEAD_BYTES = 65536  # a guess: binary formats show a NUL byte far earlier (.ncu-rep in its fourth byte)
MAX_NAME = 200  # a one-line text passed by mistake is a very long file name
BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
"""PowerShell's `>` writes UTF-16 with a mark."""

EXPORT = "ncu --import {rep} --page raw --csv > {stem}.csv"
"""The command that turns a binary report into the text that is read best."""


@dataclass(frozen=True, slots=True)
class TextSource:
    """A report's text, readable more than once."""

    name: str
    """Shown in messages."""
    path: Path | None = None
    text: str = ""
    encoding: str = "utf-8"

    def lines(self, first: int = 1) -> Iterator[tuple[int, str]]:
        """Line numbers from 1 and lines from `first` on, each with its newline; only the last may lack one."""
        stream = self._open()
        with stream:
            for number, line in enumerate(stream, 1):
                if number >= first:
                    yield number, line

    def _open(self) -> io.TextIOBase:
        if self.path is None:
            return io.StringIO(self.text, newline=None)
        return self.path.open(encoding=self.encoding, errors="replace", newline=None)


def open_source(path_or_text: str | Path, source_name: str | None = None) -> TextSource:
    """The source behind a path, behind `-` (standard input), or behind a text if the string has a newline.

    Raises:
        InputError: the file is missing, a folder, unreadable, empty or binary.
    """
    if isinstance(path_or_text, str) and ("\n" in path_or_text or "\r" in path_or_text):
        source = TextSource(source_name or "report text", text=path_or_text)
        _refuse_empty(source.name, path_or_text)
        if "\0" in path_or_text[:HEAD_BYTES]:
            raise InputError(_binary(source.name, Path(source.name)))
        return source
    if path_or_text == "-":
        return _standard_input(source_name or "standard input")
    path = Path(path_or_text)
    name = source_name or str(path_or_text)[:MAX_NAME]
    head = _head(path, name)
    encoding = _encoding(head)
    if encoding == "utf-8" and b"\0" in head:
        raise InputError(_binary(name, path))
    if head.startswith(b"\x1f\x8b"):
        raise InputError(f"{name}: compressed with gzip; unpack it first: gunzip {path.name}")
    if len(head) < HEAD_BYTES:
        _refuse_empty(name, head.decode(encoding, errors="replace"))
    return TextSource(name, path=path, encoding=encoding)


def _standard_input(name: str) -> TextSource:
    """All of standard input, which can be read once only."""
    data = sys.stdin.buffer.read()
    encoding = _encoding(data)
    if encoding == "utf-8" and b"\0" in data[:HEAD_BYTES]:
        raise InputError(f"{name}: binary (a NUL byte in its first {HEAD_BYTES} bytes), not a text report; pass the output of ncu as text")
    text = data.decode(encoding, errors="replace")
    _refuse_empty(name, text)
    return TextSource(name, text=text)


def _encoding(head: bytes) -> str:
    return next((code for mark, code in BYTE_ORDER_MARKS.items() if head.startswith(mark)), "utf-8")


def _head(path: Path, name: str) -> bytes:
    if not name.strip():
        raise InputError("report: no file name and no text given; pass the path of an Nsight Compute report")
    try:
        if path.is_dir():
            raise InputError(f"{name}: a folder, not a report; pass one file in it")
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except FileNotFoundError:
        raise InputError(f"{name}: no such file; pass the path of an Nsight Compute report") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{name}: cannot be read ({reason}); pass the path of a readable Nsight Compute report") from None


def _refuse_empty(name: str, text: str) -> None:
    if not text.strip("\ufeff \t\r\n"):
        raise InputError(f"{name}: empty; profile again with: ncu --set full --csv --page raw --log-file report.csv ./app")


def _binary(name: str, path: Path) -> str:
    if path.suffix == ".ncu-rep":
        command = EXPORT.format(rep=path.name, stem=path.stem)
        return f"{name}: a binary Nsight Compute report; export it as text first: {command}"
    return f"{name}: binary (a NUL byte in its first {HEAD_BYTES} bytes), not a text report; pass the output of ncu as text"

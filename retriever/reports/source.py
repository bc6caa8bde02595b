"""Where a report comes from: a file, read line by line, packed or not, a string, or standard input."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from indexer.errors import InputError
from retriever.reports.packed import Opener, damage_explained, unpacker
from retriever.reports.progress import Watch, no_watch, watch_of

HEAD_BYTES = 65536  # a guess: binary formats show a NUL byte far earlier (.ncu-rep in its fourth byte)
MAX_NAME = 200  # a one-line text passed by mistake is a very long file name
MAX_LINE_CHARS = 2**25  # a raw row has 50 KB, with the values of every instance some megabytes
PROGRESS_LINES = 4096  # lines between two looks at the position; a raw row is 20 KB
BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
"""PowerShell's `>` writes UTF-16 with a mark."""

UTF16_SAMPLE_BYTES = 64  # a kernel line or a header has no other letters so early

BINARY_MARK = b"NVR\0"
BINARY_SUFFIXES = (".ncu-rep", ".ncu-repz")
"""Files that only NVIDIA's reader understands: their first bytes (2023 to 2026), and their names, compressed ones too."""

NSYS_MARKS = (b"NVIDIA Tegra Profiler Report", b"SQLite format 3\0")
NSYS_SUFFIXES = (".nsys-rep", ".qdrep", ".sqlite")
"""Files of Nsight Systems: what a report (2021 to now) and its export begin with, and their names."""

PROFILE_AGAIN = "ncu --set full --csv --page raw --log-file report.csv ./app"


def export_command(report: str = "REPORT.ncu-rep") -> str:
    """The command that turns a binary report into the text that is read best: the raw page, where every metric has its own name."""
    return f"ncu --import {report} --page raw --csv > {Path(report).stem}.csv"


def nsys_command(report: str = "REPORT.nsys-rep") -> str:
    """The command that prints the kernel times of a file of Nsight Systems."""
    return f"nsys stats --report cuda_gpu_kern_sum {report}"


@dataclass(frozen=True, slots=True)
class TextSource:
    """A report's text, readable more than once."""

    name: str
    """Shown in messages."""
    path: Path | None = None
    text: str = ""
    encoding: str = "utf-8"
    unpack: Opener | None = None
    """Opens what is packed in the file; None where the file is the text itself."""
    watch: Watch = no_watch
    """Told how far the reading is."""
    binary: bool = False
    """True for a report that only NVIDIA's reader understands; it has no lines."""
    kept: object = None
    """What must live as long as the source: the folder of a temporary file."""

    def lines(self, first: int = 1) -> Iterator[tuple[int, str]]:
        """Line numbers from 1 and lines from `first` on, each with its newline; only the last may lack one.

        Raises:
            InputError: a packed file is damaged or unpacks to too much, or a line is longer than MAX_LINE_CHARS.
        """
        if self.path is None:
            yield from self._numbered(io.StringIO(self.text, newline=None), first, None, 0)
            return
        with damage_explained(self.name) if self.unpack else nullcontext():
            file = self.unpack() if self.unpack else self.path.open("rb")
            with io.TextIOWrapper(file, encoding=self.encoding, errors="replace", newline=None) as reader:  # type: ignore[type-var]
                yield from self._numbered(reader, first, None if self.unpack else file, self.path.stat().st_size)

    def _numbered(self, stream: io.TextIOBase, first: int, file: IO[bytes] | None, size: int) -> Iterator[tuple[int, str]]:
        number = 0
        try:
            while line := stream.readline(MAX_LINE_CHARS):
                number += 1
                if len(line) == MAX_LINE_CHARS:
                    raise InputError(f"{self.name}:{number}: a line of more than {MAX_LINE_CHARS >> 20} Mi characters; this is no report")
                if number % PROGRESS_LINES == 0:
                    self.watch(number, file.tell() / size if file else None)
                if number >= first:
                    yield number, line
        finally:
            self.watch(0, None)

    def as_file(self, folder: Path) -> Path:
        """The path of the unpacked bytes; what is packed is written into `folder` first."""
        if self.path and not self.unpack:
            return self.path
        target = folder / "report.ncu-rep"
        with damage_explained(self.name), target.open("wb") as out:
            if self.unpack:
                with self.unpack() as stream:
                    shutil.copyfileobj(stream, out)
        return target


def open_source(path_or_text: str | Path, source_name: str | None = None) -> TextSource:
    """The source behind a path, behind `-` (standard input), or behind a text if the string has a newline.

    Raises:
        InputError: the file is missing, a folder, unreadable, empty, an archive of several files, or binary and no report.
    """
    if isinstance(path_or_text, str) and ("\n" in path_or_text or "\r" in path_or_text):
        source = TextSource(source_name or "report text", text=path_or_text)
        _refuse_empty(source.name, path_or_text)
        if "\0" in path_or_text[:HEAD_BYTES]:
            raise InputError(_binary(source.name))
        return source
    if path_or_text == "-":
        return _standard_input(source_name or "standard input")
    return _file(Path(path_or_text), source_name or str(path_or_text)[:MAX_NAME])


def _file(path: Path, name: str, kept: object = None) -> TextSource:
    head = _head(path, name)
    unpack = unpacker(path, head, name) if path.suffix not in BINARY_SUFFIXES else None
    if unpack:
        with damage_explained(name), unpack() as stream:
            head = stream.read(HEAD_BYTES)
    encoding = _encoding(head)
    binary = head.startswith(BINARY_MARK) or (path.suffix in BINARY_SUFFIXES and b"\0" in head)
    if b"\0" in head and (head.startswith(NSYS_MARKS) or path.suffix in NSYS_SUFFIXES):
        raise InputError(_of_nsys(name, path))
    if encoding == "utf-8" and b"\0" in head and not binary:
        raise InputError(_binary(name))
    if len(head) < HEAD_BYTES:
        _refuse_empty(name, head.decode(encoding, errors="replace"))
    watch = watch_of(name, path.stat().st_size, unpack is not None, sys.stderr)
    return TextSource(name, path=path, encoding=encoding, unpack=unpack, watch=watch, binary=binary, kept=kept)


class _Folder:
    """A temporary folder that goes with the last source that needs it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _standard_input(name: str) -> TextSource:
    """All of standard input, which can be read once only: kept in a temporary file, since it may be large, packed or binary."""
    folder = _Folder()
    path = folder.path / "standard-input"
    with path.open("wb") as out:
        shutil.copyfileobj(sys.stdin.buffer, out)
    return _file(path, name, folder)


def _encoding(head: bytes) -> str:
    marked = next((code for mark, code in BYTE_ORDER_MARKS.items() if head.startswith(mark)), "")
    return marked or _unmarked_utf16(head[:UTF16_SAMPLE_BYTES]) or "utf-8"


def _unmarked_utf16(sample: bytes) -> str:
    """The encoding of ASCII text in UTF-16 that lost its mark: a NUL at every second byte and nowhere else. Empty for any other."""
    halves = sample[0::2], sample[1::2]
    silent = [bool(half) and not half.strip(b"\0") for half in halves]
    if silent == [False, True] and b"\0" not in halves[0]:
        return "utf-16-le"
    return "utf-16-be" if silent == [True, False] and b"\0" not in halves[1] else ""


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
        raise InputError(f"{name}: empty; profile again with: {PROFILE_AGAIN}")


def _binary(name: str) -> str:
    return f"{name}: binary (a NUL byte in its first {HEAD_BYTES} bytes), not a text report; pass the output of ncu as text"


def _of_nsys(name: str, path: Path) -> str:
    file = path.name if path.suffix in NSYS_SUFFIXES else "FILE"
    return f"{name}: a binary file of Nsight Systems, which nsys itself prints; pass what this writes: {nsys_command(file)}"

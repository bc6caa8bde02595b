"""A report inside gzip, bzip2, xz, zip or tar, unpacked as it is read.

An archive of several files is refused and not read member by member: how numbers are written is found once per file, line numbers
belong to one file, and launch numbers of different runs repeat.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from indexer.errors import InputError

MAX_UNPACKED_BYTES = 2**30  # ten times the largest report we read; a bomb stops here, having cost time and no memory
MAX_XZ_MEMORY_BYTES = 2**28  # xz -9 needs 65 MiB; a header can ask for gigabytes
SHOWN_MEMBERS = 3  # a guess: enough names to recognise the archive
CHUNK = 2**16
TAR_MARK = (257, b"ustar")

Opener = Callable[[], IO[bytes]]
"""Opens the unpacked bytes from their beginning, again and again."""

DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError, RuntimeError)
"""What unpacking a broken, cut or encrypted file raises."""


def unpacker(path: Path, head: bytes, name: str) -> Opener | None:
    """How to open what is packed in `path`, whose first bytes are `head`; None for a file that is not packed.

    Raises:
        InputError: several files in it or none, or a damaged file; reading on raises it past MAX_UNPACKED_BYTES.
    """
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        raise InputError(f"{name}: compressed with zstd; unpack it first: zstd -d {path.name}")
    if head.startswith(b"PK\x03\x04"):
        return _bounded(partial(_open_zip, path, name), name)
    form = next((form for mark, form in FORMS.items() if head.startswith(mark)), None)
    plain = _bounded(partial(form, path), name) if form else None
    first = _first_bytes(plain, name) if plain else head
    at, mark = TAR_MARK
    if first[at:].startswith(mark):
        return partial(_open_tar, plain or partial(path.open, "rb"), name)
    return plain


@contextmanager
def damage_explained(name: str) -> Iterator[None]:
    """Turns what a broken packed file raises into one InputError."""
    try:
        yield
    except DAMAGE as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{name}: packed, but damaged or cut ({reason[:120]}); pack or copy it again") from None


def _bounded(opener: Opener, name: str) -> Opener:
    return lambda: io.BufferedReader(_Bounded(opener(), name), CHUNK)


def _first_bytes(opener: Opener, name: str) -> bytes:
    with damage_explained(name), opener() as stream:
        return stream.read(CHUNK)


def _open_zip(path: Path, name: str) -> IO[bytes]:
    archive = zipfile.ZipFile(path)
    members = [member.filename for member in archive.infolist() if not member.is_dir() and not member.filename.startswith("__MACOSX/")]
    return archive.open(_only(members, name, f"unzip {path.name} FILE"))


def _open_tar(opener: Opener, name: str) -> IO[bytes]:
    """The one regular file in a tar; a first pass makes sure that there is no second."""
    with opener() as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        members = []
        for member in archive:
            members += [member.name] if member.isfile() else []
            if len(members) > SHOWN_MEMBERS:
                break
    _only(members, name, f"tar -xf {Path(name).name} FILE")
    stream = opener()
    archive = tarfile.open(fileobj=stream, mode="r|")  # noqa: SIM115 (what is returned reads from it and closes it)
    found = next((archive.extractfile(member) for member in archive if member.isfile()), None)
    return io.BufferedReader(_Bounded(found or io.BytesIO(), name, archive, stream), CHUNK)


def _only(members: list[str], name: str, command: str) -> str:
    if len(members) == 1:
        return members[0]
    if not members:
        raise InputError(f"{name}: an archive without a file in it; pass an Nsight Compute report")
    shown = ", ".join(members[:SHOWN_MEMBERS]) + (", ..." if len(members) > SHOWN_MEMBERS else "")
    raise InputError(f"{name}: an archive of several files ({shown}); unpack the one to read: {command}")


class _Bounded(io.RawIOBase):
    """Passes bytes on up to MAX_UNPACKED_BYTES."""

    def __init__(self, stream: IO[bytes], name: str, *owned: IO[bytes] | tarfile.TarFile):
        self._stream, self._name, self._left = stream, name, MAX_UNPACKED_BYTES
        self._owned = (stream, *owned)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        data = self._stream.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise InputError(f"{self._name}: unpacks to more than {MAX_UNPACKED_BYTES // 2**20} MiB; unpack it and pass a part of it")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        for part in self._owned:
            part.close()
        super().close()


class _Xz(io.RawIOBase):
    """`lzma.open` with a bound on memory, which it does not offer."""

    def __init__(self, path: Path):
        self._file = path.open("rb")
        self._decoder = self._new()

    @staticmethod
    def _new() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_XZ_MEMORY_BYTES)

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, or CHUNK without one; nothing at the end."""
        while True:
            if self._decoder.eof:
                rest = self._decoder.unused_data or self._file.read(CHUNK)
                if not rest.strip(b"\0"):
                    return b""
                self._decoder = self._new()
            else:
                rest = self._file.read(CHUNK) if self._decoder.needs_input else b""
                if not rest and self._decoder.needs_input:
                    raise EOFError("the file ends inside the packed data")
            if data := self._decoder.decompress(rest, size if size > 0 else CHUNK):
                return data

    def close(self) -> None:
        self._file.close()
        super().close()


FORMS: dict[bytes, Callable[[Path], IO[bytes]]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": _Xz}  # type: ignore[dict-item]
"""By the bytes that a file begins with."""

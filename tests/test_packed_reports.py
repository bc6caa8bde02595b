"""Reports in gzip, bzip2, xz, zip and tar: read like the plain file, refused when damaged, many or a bomb; progress while reading."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import InputError
from retriever.reports import packed, source
from retriever.reports.packed import MAX_UNPACKED_BYTES
from retriever.reports.profile import Report
from retriever.reports.progress import ReadingLine, watch_of
from retriever.reports.read import read_report

RAW = (Path(__file__).parent / "data" / "reports" / "raw_2025.csv").read_text()


def message(path_or_text: str | Path, name: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_report(path_or_text, name)
    return str(caught.value)


PACKERS = {"r.csv.gz": gzip.compress, "r.csv.bz2": bz2.compress, "r.csv.xz": lzma.compress}


def as_tar(members: dict[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def as_zip(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def same(report: Report) -> bool:
    return [dict(p.metrics) for p in report.profiles] == [dict(p.metrics) for p in read_report(RAW).profiles]


@pytest.mark.parametrize("name", PACKERS)
def test_a_packed_report_reads_like_the_plain_one(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(PACKERS[name](RAW.encode()))
    assert same(read_report(tmp_path / name))


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_a_tar_of_one_file_reads_like_the_file(mode: str, tmp_path: Path) -> None:
    (tmp_path / "r.tar").write_bytes(as_tar({"dir/r.csv": RAW.encode()}, mode))
    assert same(read_report(tmp_path / "r.tar"))


def test_a_zip_of_one_file_reads_like_the_file_and_one_of_two_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.zip").write_bytes(as_zip({"r.csv": RAW.encode(), "__MACOSX/._r.csv": b"x"}))
    assert same(read_report(tmp_path / "one.zip"))
    (tmp_path / "two.zip").write_bytes(as_zip({"a.csv": RAW.encode(), "b.csv": RAW.encode()}))
    assert message(tmp_path / "two.zip", "two.zip") == (
        "two.zip: an archive of several files (a.csv, b.csv); unpack the one to read: unzip two.zip FILE"
    )


def test_a_tar_of_many_files_names_the_first_ones(tmp_path: Path) -> None:
    (tmp_path / "r.tgz").write_bytes(as_tar({f"{at}.csv": b"x" for at in range(9)}, "w:gz"))
    assert message(tmp_path / "r.tgz", "r.tgz") == (
        "r.tgz: an archive of several files (0.csv, 1.csv, 2.csv, ...); unpack the one to read: tar -xf r.tgz FILE"
    )


@pytest.mark.parametrize("name", PACKERS)
def test_a_cut_packed_file_is_one_clear_error(name: str, tmp_path: Path) -> None:
    data = PACKERS[name](RAW.encode() * 20)
    (tmp_path / name).write_bytes(data[: len(data) // 2])
    assert message(tmp_path / name, name).startswith(f"{name}: packed, but damaged or cut (")


def test_a_bomb_is_refused_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "MAX_UNPACKED_BYTES", 2**20)
    for name, pack in PACKERS.items():
        (tmp_path / name).write_bytes(pack(b" " * 70 + b"\n" + b"words of a program\n" * 60_000))
        assert message(tmp_path / name, name) == f"{name}: unpacks to more than 1 MiB; unpack it and pass a part of it"
    assert MAX_UNPACKED_BYTES == 2**30


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_LINE_CHARS", 2**20)
    (tmp_path / "r.txt").write_text("x" * 2**21)
    assert message(tmp_path / "r.txt", "r.txt") == "r.txt:1: a line of more than 1 Mi characters; this is no report"


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(sorted(PACKERS)), st.integers(0, 60))
def test_damage_to_a_packed_file_is_an_input_error_or_a_report(noise: bytes, name: str, at: int) -> None:
    data = PACKERS[name](RAW.encode())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data[:at] + noise + data[at + len(noise) :])
        try:
            assert read_report(path).profiles
        except InputError as error:
            assert "\n" not in str(error)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_for_large_files_on_a_terminal_only() -> None:
    assert isinstance(watch_of("r", 21 * 10**6, False, Terminal()), ReadingLine)
    assert isinstance(watch_of("r.xz", 2 * 10**6, True, Terminal()), ReadingLine)
    for size, stream in ((10**6, Terminal()), (21 * 10**6, io.StringIO())):
        assert not isinstance(watch_of("r", size, False, stream), ReadingLine)


def test_the_line_of_progress_wipes_itself() -> None:
    out, times = Terminal(), iter((0.0, 1.0, 1.0, 2.0, 2.0))
    line = ReadingLine("r.csv", out, lambda: next(times))
    line(4096, 0.5)
    line(0, None)
    assert out.getvalue() == "\rreading r.csv: 50%\r                  \r"

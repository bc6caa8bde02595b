"""A binary report (`.ncu-rep`) to profiles, read in a child process that may crash, hang or run out of memory without harm."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from indexer.errors import InputError
from retriever.reports import rep_readers
from retriever.reports.csv_pages import read_csv
from retriever.reports.device_names import device_names
from retriever.reports.draft import capability, dimensions
from retriever.reports.kernel_names import kernel_name
from retriever.reports.profile import Profile, ProfilesAndNotes, RuleMessage, SourceLine
from retriever.reports.source import BINARY_SUFFIXES, TextSource, export_command
from retriever.reports.source_lines import by_count
from retriever.reports.units import base_unit
from retriever.reports.wide import Columns, WideMetrics, named_columns

WORKER = Path(__file__).with_name("rep_worker.py")
MIN_MEMORY_BYTES = 4 * 2**30  # address space, not memory in use: the module's libraries alone map about 1 GiB
MEMORY_PER_BYTE = 16  # a guess with room: a report of 3.3 MB took 40 MB
MIN_TIMEOUT_S = 60
BYTES_PER_S = 500_000  # a guess: a tenth of what was measured, for slow machines
MAX_ANSWER_LINE = 2**26  # a launch's JSON has about 150 KB
MAX_TRIES = 3  # installs to try one after another
SHOWN_REASON = 160

_LINK = re.compile(r"@(url|section|sass|source):([^@\n]*)@")


class Failure(Exception):
    """Why one reader did not read the report, in words."""


def read_rep(source: TextSource) -> ProfilesAndNotes:
    """Profiles and notes of a binary report, by whatever on this machine reads it.

    Raises:
        InputError: nothing here reads such reports, or what does failed on this one.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = source.as_file(Path(folder))
        failures = []
        for place in rep_readers.module_folders()[:MAX_TRIES]:
            try:
                profiles = _named(_by_module(path, place), path)
                return profiles, (f"binary report: {len(profiles)} launches read by NVIDIA's ncu_report",)
            except Failure as failure:
                failures.append(str(failure))
        if ncu := rep_readers.ncu_command():
            try:
                return _by_ncu(path, ncu, Path(folder), source.name)
            except Failure as failure:
                failures.append(str(failure))
    raise InputError(_remedies(source, failures))


def _named(profiles: tuple[Profile, ...], path: Path) -> tuple[Profile, ...]:
    """Each launch with its GPU's product name: where no section collected the attribute, the one name that the file holds."""
    names = device_names(path) if any(profile.device is None for profile in profiles) else ()
    if len(names) != 1:
        return profiles
    (name,) = names
    return tuple(profile if profile.device else replace(profile, device=name) for profile in profiles)


def _remedies(source: TextSource, failures: list[str]) -> str:
    path = Path(source.name if source.name.endswith(BINARY_SUFFIXES) else "REPORT.ncu-rep")
    export = export_command(path.name)
    if failures:
        reasons = "; ".join(dict.fromkeys(failures))
        return (
            f"{source.name}: a binary Nsight Compute report that could not be read ({reasons}); it is cut, damaged or newer than the "
            f"reader: copy it again, update the reader (pip install -U ncu-report), or export it where it was made: {export}"
        )
    return (
        f'{source.name}: a binary Nsight Compute report, and nothing here reads it; pip install "warplore[ncu]", or install Nsight '
        f"Compute, or export it where it was made: {export}"
    )


def _by_module(path: Path, place: Path) -> tuple[Profile, ...]:
    size = path.stat().st_size
    timeout_s = MIN_TIMEOUT_S + size // BYTES_PER_S
    memory_bytes = MIN_MEMORY_BYTES + MEMORY_PER_BYTE * size
    command = [sys.executable, "-I", "-S", str(WORKER), str(path.resolve()), str(place), str(memory_bytes), str(timeout_s)]
    with tempfile.TemporaryFile() as answer:
        _run(command, answer, timeout_s, "ncu_report")
        answer.seek(0)
        try:
            return tuple(_profiles(answer))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError):
            raise Failure("ncu_report gave an answer that makes no sense") from None


def _run(command: list[str], answer: IO[bytes], timeout_s: int, what: str) -> None:
    """Runs a reader with its output in a file; Failure when it hangs, crashes or says that it failed."""
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=answer, stderr=subprocess.PIPE, timeout=timeout_s, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"{what} did not finish in {timeout_s} s") from None
    except OSError as error:
        raise Failure(f"{what} did not start: {error.strerror}") from None
    if done.returncode < 0:
        raise Failure(f"{what} crashed with {_signal(-done.returncode)}")
    if done.returncode:
        raise Failure(f"{what} failed: {_one_line(done.stderr.decode(errors='replace')) or f'exit code {done.returncode}'}")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _one_line(text: str) -> str:
    """The last line of what a program said, printable and short."""
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    return "".join(sign for sign in last.strip() if sign.isprintable())[:SHOWN_REASON]


def _profiles(answer: IO[bytes]) -> Iterator[Profile]:
    tables: dict[int, Columns] = {}
    finished = 0
    while line := answer.readline(MAX_ANSWER_LINE):
        record = json.loads(line)
        if "fault" in record:
            raise Failure(f"ncu_report failed: {_one_line(str(record['text']))}")
        if "table" in record and "names" in record:
            tables[record["table"]] = _table(record)
        elif "launch" in record:
            yield _profile(record, tables[record["table"]])
        else:
            finished = record["done"]
    if not finished:
        raise Failure("ncu_report found no launch in it")


def _table(record: dict[str, Any]) -> Columns:
    names = tuple(str(name) for name in record["names"])
    scales = [base_unit(str(unit)) for unit in record["units"]]
    if len(names) != len(scales):
        raise ValueError("names and units differ in number")
    return named_columns(names, tuple(range(len(names))), scales)


def _profile(record: dict[str, Any], table: Columns) -> Profile:
    number = int(record["launch"])
    numbers = array("d", map(float, record["values"]))
    if len(numbers) != len(table.names):
        raise ValueError("values and names differ in number")
    for position, factor in table.rescaled:
        numbers[position] *= factor
    metrics = WideMetrics(table, numbers, number + 1)
    texts = {str(name): str(text) for name, text in record["texts"].items()}
    signature = str(record["name"])
    name = kernel_name(signature)
    return Profile(
        kernel=name,
        signature=signature if name != signature else "",
        grid=dimensions(metrics, "launch__grid_dim"),
        block=dimensions(metrics, "launch__block_dim"),
        device=texts.get("device__attribute_display_name"),
        compute_capability=capability(metrics),
        metrics=metrics,
        unavailable=tuple(str(missing) for missing in record["missing"]),
        rules=tuple(_rule(rule, number) for rule in record["rules"]),
        sections=tuple(str(section) for section in record["sections"]),
        attributes=texts,
        launch_id=str(number),
        location=f"{number + 1}:1",
        lines=tuple(_line(line, number) for line in record["lines"]),
        sampled=int(record["sampled"]),
        workload=str(record["workload"]),
        gpu_index=f"{device.value:g}" if (device := metrics.get("device__attribute_device_index")) else "",
    )


def _rule(rule: dict[str, Any], number: int) -> RuleMessage:
    speedup = None if rule["speedup"] is None else float(rule["speedup"])
    scope = str(rule["scope"]) if speedup is not None else ""
    return RuleMessage(str(rule["name"]), str(rule["severity"]), _plain(str(rule["text"])), speedup, f"{number + 1}:1", scope)


def _plain(text: str) -> str:
    """A rule's text as the other pages print it: with an address behind what it is linked to, without links inside the report."""
    return _LINK.sub(_linked, text)


def _linked(link: re.Match[str]) -> str:
    words, _, address = link[2].partition(":")
    if link[1] == "url":
        return f"{words} ({address})" if address else words
    return link[2].rpartition(":")[2]


def _line(line: dict[str, Any], number: int) -> SourceLine:
    stalls = by_count({str(reason): int(count) for reason, count in line["stalls"].items()})
    text, file, address = str(line["text"]), str(line["file"]), str(line["address"])
    return SourceLine(sum(stalls.values()), stalls, text, file, int(line["line"]), address, f"{number + 1}:1")


def _by_ncu(path: Path, ncu: str, folder: Path, name: str) -> ProfilesAndNotes:
    """The raw page that the profiler itself exports; it has no rules and no lines."""
    export = folder / "raw.csv"
    command = [ncu, "--import", str(path.resolve()), "--page", "raw", "--csv"]
    with export.open("wb") as answer:
        _run(command, answer, MIN_TIMEOUT_S + path.stat().st_size // BYTES_PER_S, "ncu --import")
    profiles, notes = read_csv(TextSource(name, path=export), 1)
    if not profiles:
        raise Failure("ncu --import printed no launch")
    return profiles, ("binary report: its raw page as ncu exports it, which has neither rules nor lines of code", *notes)

"""The instruction pages checked against a real assembler: every claim of every example, for every target.

`verify` runs the assembler and, when asked, writes `isa/verified.json`; `check_verified` only compares hashes and runs anywhere.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from indexer.errors import CorpusError, InputError
from indexer.isa_examples import TARGET_VERSIONS, Example, examples_hash, isa_pages, read_examples, version_key
from retriever.assemblers import Assembler, Verdict, assemblers

SCHEMA = 1
VERIFIED = "isa/verified.json"
PTX_VERSIONS = (
    *("6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8"),
    *("8.0", "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8", "9.0"),
)
"""PTX ISA versions from the first that knows sm_75; what ptxas 13.0.88 lists."""

Verdicts = dict[tuple[Example, str], Verdict]


@dataclass(frozen=True, slots=True)
class Verification:
    """What one run of `verify` found."""

    problems: tuple[str, ...]
    """`path:line: message`, sorted."""
    record: dict
    """The content of verified.json."""
    examples: int
    runs: int
    """How often an assembler was started."""
    skipped: int
    """Claims on targets or PTX versions that the assembler does not know."""


def verify(
    root: Path,
    *,
    write: bool = False,
    only: Collection[str] | None = None,
    targets: Sequence[str] = tuple(TARGET_VERSIONS),
    found: Sequence[Assembler] | None = None,
    versions: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Assemble every example for every one of `targets` and compare the verdicts with the pages' claims.

    The first of `found` (default: every assembler at hand) decides and is recorded in full; the others are asked about claimed
    targets only, and where they disagree the record says so. `only` keeps the entries with these ids, and cannot be written.

    Raises:
        InputError: there is no assembler, no page, or a partial result would be written.
    """
    found = assemblers() if found is None else list(found)
    if not found:
        raise InputError("no ptxas on PATH, in CUDA_HOME or in an installed wheel; install the CUDA toolkit, triton or nvidia-cuda-nvcc")
    if write and (only is not None or not versions or set(targets) != set(TARGET_VERSIONS)):
        raise InputError(f"{VERIFIED} is written from a run over every entry, target and version; drop the selection or the writing")
    pages = {id: path for id, path in isa_pages(root).items() if only is None or id in only}
    if not pages:
        raise InputError(f"{root}/isa: no instruction pages to verify" + (f" among {', '.join(sorted(only))}" if only else ""))
    entries, problems = _read_pages(root, pages)
    examples = [example for listed in entries.values() for example in listed]
    main, *others = found
    asks = [(main, example, target) for example in examples for target in targets]
    asks += [(other, e, target) for other in others for e in examples for target in (*e.accept, *e.refuse) if target in targets]
    asks = [ask for ask in asks if _knows(*ask)]
    answers, probes = _assemble_all(asks, [(main, e) for e in examples if e.accept and versions], progress)
    verdicts = {(example, target): verdict for (by, example, target), verdict in answers.items() if by is main}
    skipped = 0
    for id, listed in entries.items():
        for example in listed:
            claimed = [target for target in (*example.accept, *example.refuse) if target in targets]
            skipped += sum((example, target) not in verdicts for target in claimed)
            where = f"{pages[id].relative_to(root).as_posix()}:{example.line}"
            problems += [f"{where}: {fault}" for fault in _broken_claims(example, verdicts)]
    record = _record(found, entries, targets, verdicts, answers, probes)
    if write and not problems:
        (root / VERIFIED).write_text(render(record), encoding="utf-8")
    return Verification(tuple(sorted(problems)), record, len(examples), len(asks), skipped)


def check_verified(root: Path) -> list[str]:
    """What is missing or out of date in verified.json, as `path:line: message`; empty when every page is as it was verified."""
    pages = isa_pages(root)
    entries, problems = _read_pages(root, pages)
    recorded = read_verified(root)["entries"] if (root / VERIFIED).is_file() else {}
    for id, path in pages.items():
        where = path.relative_to(root).as_posix()
        if id not in recorded:
            problems.append(f"{where}:1: not in {VERIFIED}; run `warplore isa verify`")
        elif id in entries and recorded[id]["hash"] != examples_hash(entries[id]):
            problems.append(f"{where}:{entries[id][0].line}: examples changed since they were verified; run `warplore isa verify`")
    problems += [f"{VERIFIED}:1: {id} has no page; run `warplore isa verify`" for id in recorded if id not in pages]
    return sorted(problems)


def read_verified(root: Path) -> dict:
    """The content of verified.json.

    Raises:
        InputError: it is missing, is not JSON, or has another schema.
    """
    path = root / VERIFIED
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{VERIFIED}: cannot be read ({error}); run `warplore isa verify`") from error
    if record.get("schema") != SCHEMA:
        raise InputError(f"{VERIFIED}: schema {record.get('schema')!r}, not {SCHEMA}; run `warplore isa verify`")
    return record


def render(record: dict) -> str:
    """The record as JSON with one line an example, so that a change shows as one changed line."""
    lines = [f'{{"schema":{record["schema"]},"assemblers":{_compact(record["assemblers"])},"entries":{{']
    for position, (id, entry) in enumerate(record["entries"].items()):
        lines.append(f'{"," if position else ""}{json.dumps(id)}:{{"hash":{json.dumps(entry["hash"])},"examples":[')
        lines.append(",\n".join(map(_compact, entry["examples"])))
        lines.append("]}")
    return "\n".join([*lines, "}}"]) + "\n"


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _read_pages(root: Path, pages: dict[str, Path]) -> tuple[dict[str, tuple[Example, ...]], list[str]]:
    entries: dict[str, tuple[Example, ...]] = {}
    problems: list[str] = []
    for id, path in pages.items():
        try:
            entries[id] = read_examples(root, path)
        except CorpusError as error:
            problems += error.problems
    return entries, problems


def _knows(assembler: Assembler, example: Example, target: str) -> bool:
    needed = max(example.version, TARGET_VERSIONS[target], key=version_key)
    return target in assembler.targets and version_key(needed) <= version_key(assembler.newest)


def _assemble_all(
    asks: list[tuple[Assembler, Example, str]], probes: list[tuple[Assembler, Example]], progress: Callable[[int, int], None] | None
) -> tuple[dict[tuple[Assembler, Example, str], Verdict], dict[Example, str | None]]:
    """Verdicts by question, and the lowest accepted PTX version by example."""
    total = len(asks) + len(probes)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(name)
        answers = {}
        jobs = pool.map(lambda ask: ask[0].assemble(ask[1].module(ask[2]), ask[2], folder), asks)
        for done, (ask, verdict) in enumerate(zip(asks, jobs), start=1):
            answers[ask] = verdict
            if progress:
                progress(done, total)
        lowest = {}
        searches = pool.map(lambda probe: _lowest_version(*probe, folder), probes)
        for done, ((_, example), version) in enumerate(zip(probes, searches), start=len(asks) + 1):
            lowest[example] = version
            if progress:
                progress(done, total)
    return answers, lowest


def _lowest_version(assembler: Assembler, example: Example, folder: Path) -> str | None:
    """The lowest `.version` that its oldest accepting target takes, by bisection; None when the assembler lacks that target.

    A version below the target's own minimum cannot be tried, so the oldest target gives the most telling answer.
    """
    target = min(example.accept, key=lambda name: (version_key(TARGET_VERSIONS[name]), list(TARGET_VERSIONS).index(name)))
    newest, oldest = version_key(assembler.newest), version_key(TARGET_VERSIONS[target])
    tried = [version for version in PTX_VERSIONS if oldest <= version_key(version) <= newest]
    if target not in assembler.targets or not tried:
        return None
    low, high = 0, len(tried)
    while low < high:
        middle = (low + high) // 2
        if assembler.assemble(example.module(target, tried[middle]), target, folder).accepted:
            high = middle
        else:
            low = middle + 1
    return tried[low] if low < len(tried) else None


def _broken_claims(example: Example, verdicts: Verdicts) -> list[str]:
    faults = []
    for target in example.accept:
        verdict = verdicts.get((example, target))
        if verdict and not verdict.accepted:
            faults.append(f"claimed to be accepted for {target}, but it is {verdict.text}")
    for target in example.refuse:
        verdict = verdicts.get((example, target))
        if verdict and verdict.accepted:
            faults.append(f"claimed to be refused for {target}, but it is accepted")
        elif verdict and not any(example.error in message for message in verdict.errors):
            faults.append(f'claimed to be refused for {target} with "{example.error}", but it is {verdict.text}')
    return faults


def _record(
    found: Sequence[Assembler],
    entries: dict[str, tuple[Example, ...]],
    targets: Sequence[str],
    verdicts: Verdicts,
    answers: dict[tuple[Assembler, Example, str], Verdict],
    lowest: dict[Example, str | None],
) -> dict:
    names = ["ptxas", *(f"ptxas-{position}" for position in range(2, len(found) + 1))]
    return {
        "schema": SCHEMA,
        "assemblers": {name: assembler.version for name, assembler in zip(names, found)},
        "entries": {
            id: {
                "hash": examples_hash(listed),
                "examples": [_example_record(example, found, targets, verdicts, answers, lowest) for example in listed],
            }
            for id, listed in entries.items()
        },
    }


def _example_record(example: Example, found, targets, verdicts: Verdicts, answers, lowest) -> dict:
    asked = [target for target in targets if (example, target) in verdicts]
    record: dict = {"accept": example.accept, "refuse": example.refuse, "version": example.version}
    if lowest.get(example):
        record["min_version"] = lowest[example]
    if codes := sorted({code for target in asked for code in verdicts[example, target].codes}):
        record["codes"] = codes
    record["targets"] = {target: verdicts[example, target].text for target in asked}
    disagreements = {
        other.version: {
            target: verdict.text
            for target in asked
            if (verdict := answers.get((other, example, target))) and _differs(verdict, verdicts[example, target])
        }
        for other in found[1:]
    }
    if any(disagreements.values()):
        record["disagree"] = {version: answer for version, answer in disagreements.items() if answer}
    return record


def _differs(one: Verdict, other: Verdict) -> bool:
    return one.accepted != other.accepted

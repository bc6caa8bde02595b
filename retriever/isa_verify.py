"""The instruction pages checked against real assemblers: every claim of every example, for every target.

`verify` runs them and, when asked, writes `isa/verified.json`; `check_verified` only compares hashes and runs anywhere.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from indexer.errors import CorpusError, InputError
from indexer.isa_examples import TARGET_VERSIONS, Example, examples_hash, isa_pages, page_mnemonics, read_examples, version_key
from retriever.assemblers import Assembler, Disassembler, Verdict, assemblers, disassemblers
from retriever.isa_batch import Batches
from retriever.isa_record import SCHEMA, VERIFIED, Answers, accepted_by, example_record, read_verified, render, strictest
from retriever.isa_sass import SASS_TARGETS, Machine, read_sass

PTX_VERSIONS = (
    *("6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8"),
    *("8.0", "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8", "9.0", "9.1", "9.2", "9.3", "9.4", "9.5"),
)
"""PTX ISA versions from the first that knows sm_75; what ptxas 13.5.37 lists."""

Progress = Callable[[int, int], None]


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
    answers: int
    """Verdicts on an example for a target by an assembler."""
    skipped: int
    """Claims on targets or PTX versions that no assembler knows."""


def verify(
    root: Path,
    *,
    write: bool = False,
    only: Collection[str] | None = None,
    targets: Sequence[str] = tuple(TARGET_VERSIONS),
    found: Sequence[Assembler] | None = None,
    reading: Sequence[Disassembler] | None = None,
    versions: bool = True,
    progress: Progress | None = None,
) -> Verification:
    """Assemble every example for every one of `targets` and compare the verdicts with the pages' claims and with the record.

    Every one of `found` (default: the assemblers at hand) is asked, and the strictest decides; where they differ the record says so.
    Machine code is read with the first of `reading` (default: the disassemblers at hand, newest first; empty reads none).
    `only` keeps the entries with these ids, and cannot be written.

    Raises:
        InputError: there is no assembler, no page, or a partial result would be written.
    """
    found = assemblers() if found is None else list(found)
    reading = disassemblers() if reading is None else list(reading)
    if not found:
        raise InputError("no ptxas on PATH, in CUDA_HOME or in an installed wheel; install the CUDA toolkit, triton or nvidia-cuda-nvcc")
    if write and (only is not None or not versions or set(targets) != set(TARGET_VERSIONS)):
        raise InputError(f"{VERIFIED} is written from a run over every entry, target and version; drop the selection or the writing")
    pages = {id: path for id, path in isa_pages(root).items() if only is None or id in only}
    if not pages:
        raise InputError(f"{root}/isa: no instruction pages to verify" + (f" among {', '.join(sorted(only))}" if only else ""))
    entries, problems = _read_pages(root, pages)
    examples = [example for listed in entries.values() for example in listed]
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        run = _Run(found, Path(name), pool, progress or (lambda *_: None))
        answers = run.answers(examples, targets)
        since = run.lowest_versions([e for e in examples if e.accept]) if versions else {}
        mnemonics = {example: page_mnemonics(pages[id]) for id, listed in entries.items() for example in listed if example.accept}
        machines = run.machine_code(mnemonics, answers, reading[:1], targets) if versions else {}
    for id, listed in entries.items():
        for example in listed:
            where = f"{pages[id].relative_to(root).as_posix()}:{example.line}"
            problems += [f"{where}: {fault}" for fault in _broken_claims(example, targets, answers)]
    main = found[0].version
    record = {
        "schema": SCHEMA,
        "assemblers": [assembler.version for assembler in found],
        "nvdisasm": reading[0].version if reading else None,
        "entries": {
            id: {
                "hash": examples_hash(listed),
                "examples": [
                    example_record(
                        example,
                        answers,
                        {name: lowest.get(example) for name, lowest in since.items()},
                        machines.get(example, ((), None))[0],
                        by if (by := machines.get(example, ((), None))[1]) != main else None,
                    )
                    for example in listed
                ],
            }
            for id, listed in entries.items()
        },
    }
    if write and not problems:
        (root / VERIFIED).write_text(render(record), encoding="utf-8")
    elif not write:
        problems += _drift(root, pages, entries, record, answers, set(targets), versions)
    skipped = sum(strictest(e, t, answers) is None for e in examples for t in (*e.accept, *e.refuse) if t in targets)
    asked = sum(map(len, answers.values()))
    return Verification(tuple(sorted(problems)), record, len(examples), run.started, asked, skipped)


def check_verified(root: Path) -> list[str]:
    """What is missing or out of date in verified.json, as `path:line: message`; empty when every page is as it was verified."""
    pages = isa_pages(root)
    entries, problems = _read_pages(root, pages)
    try:
        recorded = read_verified(root)["entries"] if (root / VERIFIED).is_file() else {}
    except InputError as error:
        return sorted([*problems, f"{VERIFIED}:1: {str(error).removeprefix(f'{VERIFIED}: ')}"])
    for id, path in pages.items():
        where = path.relative_to(root).as_posix()
        if id not in recorded:
            problems.append(f"{where}:1: not in {VERIFIED}; run `warplore isa verify --write`")
        elif id in entries and recorded[id]["hash"] != examples_hash(entries[id]):
            problems.append(f"{where}:{entries[id][0].line}: examples changed since they were verified; run `warplore isa verify --write`")
    problems += [f"{VERIFIED}:1: {id} has no page; run `warplore isa verify --write`" for id in recorded if id not in pages]
    return sorted(problems)


def _read_pages(root: Path, pages: dict[str, Path]) -> tuple[dict[str, tuple[Example, ...]], list[str]]:
    entries: dict[str, tuple[Example, ...]] = {}
    problems: list[str] = []
    for id, path in pages.items():
        try:
            entries[id] = read_examples(root, path)
        except CorpusError as error:
            problems += error.problems
    return entries, problems


class _Run:
    """The assemblers at work on groups of examples, several groups at a time."""

    def __init__(self, found: Sequence[Assembler], folder: Path, pool: ThreadPoolExecutor, progress: Progress):
        self.found = found
        self.folder = folder
        self.pool = pool
        self.progress = progress
        self.batches = {assembler.version: Batches(assembler, folder) for assembler in found}

    @property
    def started(self) -> int:
        return sum(batches.runs for batches in self.batches.values())

    def answers(self, examples: Iterable[Example], targets: Sequence[str]) -> Answers:
        """Every verdict, by assembler; an assembler is not asked about what it does not know."""
        groups: dict[tuple[str, str, str], list[Example]] = {}
        for assembler in self.found:
            for target in targets:
                for example in examples:
                    if _knows(assembler, target, version := example.version_for(target)):
                        groups.setdefault((assembler.version, target, version), []).append(example)
        verdicts: dict[str, dict[tuple[Example, str], Verdict]] = {assembler.version: {} for assembler in self.found}
        for (name, target, _), judged in self._judge(groups):
            verdicts[name] |= {(example, target): verdict for example, verdict in judged.items()}
        return verdicts

    def lowest_versions(self, examples: Sequence[Example]) -> dict[str, dict[Example, str | None]]:
        """By assembler, the lowest `.version` that an example's oldest accepting target takes, all examples bisected in step.

        A version below the target's own minimum cannot be tried, so the oldest target gives the most telling answer.
        """
        spans: dict[tuple[str, Example], tuple[str, list[str], int, int]] = {}
        for assembler in self.found:
            for example in examples:
                target = min(example.accept, key=lambda name: (version_key(TARGET_VERSIONS[name]), list(TARGET_VERSIONS).index(name)))
                tried = [v for v in PTX_VERSIONS if version_key(v) >= version_key(TARGET_VERSIONS[target]) and _knows(assembler, target, v)]
                spans[assembler.version, example] = (target, tried, 0, len(tried))
        while True:
            groups: dict[tuple[str, str, str], list[Example]] = {}
            for (name, example), (target, tried, low, high) in spans.items():
                if low < high:
                    groups.setdefault((name, target, tried[(low + high) // 2]), []).append(example)
            if not groups:
                break
            for (name, _, _), judged in self._judge(groups):
                for example, verdict in judged.items():
                    target, tried, low, high = spans[name, example]
                    middle = (low + high) // 2
                    spans[name, example] = (target, tried, *((low, middle) if verdict.accepted else (middle + 1, high)))
        lowest: dict[str, dict[Example, str | None]] = {assembler.version: {} for assembler in self.found}
        for (name, example), (_, tried, low, _) in spans.items():
            lowest[name][example] = tried[low] if low < len(tried) else None
        return lowest

    def machine_code(
        self, mnemonics: dict[Example, tuple[str, ...]], answers: Answers, reading: Sequence[Disassembler], targets: Sequence[str]
    ) -> dict[Example, tuple[list[Machine], str]]:
        """What the examples became, with the assembler that made it: the first that knows the example and that nvdisasm can read."""
        found: dict[Example, tuple[list[Machine], str]] = {}
        for disassembler in reading:
            readable = [each for each in self.found if version_key(each.version) <= version_key(disassembler.version)]
            jobs: dict[tuple[str, str], dict[Example, tuple[str, ...]]] = {}
            for example, names in mnemonics.items():
                for target in (target for target in SASS_TARGETS if target in targets):
                    by = next((a.version for a in readable if (v := answers[a.version].get((example, target))) and v.accepted), None)
                    if by:
                        jobs.setdefault((by, target), {})[example] = names
            made = {assembler.version: assembler for assembler in readable}
            work = [self.pool.submit(read_sass, job, target, made[by], disassembler, self.folder) for (by, target), job in jobs.items()]
            for done, ((by, _), future) in enumerate(zip(jobs, work), start=1):
                for example, machines in future.result().items():
                    found.setdefault(example, ([], by))[0].extend(machines)
                self.progress(done, len(work))
        return found

    def _judge(self, groups: dict[tuple[str, str, str], list[Example]]):
        work = {key: self.pool.submit(self.batches[key[0]].judge, listed, key[1], key[2]) for key, listed in groups.items()}
        for done, (key, future) in enumerate(work.items(), start=1):
            yield key, future.result()
            self.progress(done, len(work))


def _knows(assembler: Assembler, target: str, version: str) -> bool:
    return target in assembler.targets and version_key(version) <= version_key(assembler.newest)


def _broken_claims(example: Example, targets: Sequence[str], answers: Answers) -> list[str]:
    """Claims that the strictest assembler contradicts; the text of a refusal may be that of any of them."""
    faults = []
    for target in (target for target in (*example.accept, *example.refuse) if target in targets):
        verdict = strictest(example, target, answers)
        if verdict and target in example.accept and not verdict.accepted:
            by = next(name for name, found in answers.items() if found.get((example, target)) is verdict)
            faults.append(f"claimed to be accepted for {target}, but it is {verdict.text} (ptxas {by})")
        elif verdict and target in example.refuse:
            messages = [m for found in answers.values() if (v := found.get((example, target))) for m in v.errors]
            if verdict.accepted:
                faults.append(f"claimed to be refused for {target}, but it is accepted")
            elif not any(example.error in message for message in messages):
                faults.append(f'claimed to be refused for {target} with "{example.error}", but it is {verdict.text}')
    return faults


def _drift(root: Path, pages: dict, entries: dict, record: dict, answers: Answers, targets: set[str], versions: bool) -> list[str]:
    """Where the committed record says other than the assemblers that it names say now, for pages that have not changed."""
    try:
        committed = read_verified(root)
    except InputError:
        return []
    problems = []
    same_tools = versions and committed["nvdisasm"] == record["nvdisasm"] and committed["assemblers"][:1] == record["assemblers"][:1]
    for id, listed in entries.items():
        old = committed["entries"].get(id)
        if not old or old["hash"] != examples_hash(listed):
            continue
        for example, was, now in zip(listed, old["examples"], record["entries"][id]["examples"]):
            where = f"{pages[id].relative_to(root).as_posix()}:{example.line}"
            for name in set(committed["assemblers"]) & set(record["assemblers"]):
                before = accepted_by(was, name) & {t for t in targets if (example, t) in answers[name]}
                after = {t for t in targets if (v := answers[name].get((example, t))) and v.accepted}
                if before != after:
                    problems.append(f"{where}: {VERIFIED} differs from ptxas {name} on {', '.join(sorted(before ^ after))}")
            if (
                same_tools
                and targets == set(TARGET_VERSIONS)
                and was.get("sass") != now.get("sass")
                and was.get("sass_by") == now.get("sass_by")
            ):
                problems.append(f"{where}: {VERIFIED} has other machine code than nvdisasm {record['nvdisasm']} shows")
    return problems

"""Judge entries of the zoo in isolated workers and return their records. Imports no torch: the CLI may import it anywhere.

Order for many implementations: all are checked, a few at a time (which also fills the compilers' caches), then each is timed alone
while the next worker's imports are under way, then one sanitizer process and one profiler process serve them all.
"""

from __future__ import annotations

import ast
import datetime
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import discover, profile, record, sanitize
from .device import query_smi
from .discover import Entry
from .findings import Finding, from_exception
from .process import Worker

SEED_BOUND = 1 << 31
CPU_CASE_BYTES = 1 << 20
"""Largest case in Triton's interpreter, which takes seconds for a megabyte."""
SANITIZER_TIMEOUT_S, SANITIZER_ENTRY_S = 40, 5
"""For one process, and for each entry in it. On an H200 memcheck and racecheck took 12 to 14 s over 13 entries; synccheck did not come
back from one that spins on an mbarrier."""
BUDGET_SPENT = "the time budget was spent"


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge."""

    device: str = "auto"
    """cuda, cpu or auto: cuda where there is one."""
    rounds: int = 30
    """Interleaved rounds of timing; 0 checks only."""
    sanitizer: bool = True
    ncu: bool = True
    timeout_s: float = 240
    """For one worker, compilation included."""
    budget_s: float | None = None
    """Steps not begun after this are left out, and the records say so."""
    jobs: int = 4
    """Workers at a time while nothing is timed."""
    cases: str = ""
    """Only cases whose name contains this."""
    zoo: Path = discover.ZOO
    seed: int | None = None
    """None draws a fresh one; the record keeps it."""
    say: Callable[[str], None] = field(default=lambda text: None)
    """Progress, one line at a time."""
    keep: Callable[[list[dict[str, Any]]], None] = field(default=lambda records: None)
    """Called with the records so far after every step that adds to them, so that an interrupted run loses one step."""


def has_gpu() -> bool:
    """Whether this machine shows an NVIDIA GPU."""
    return bool(query_smi(("name",)))


def validate(operator: str, impl: str, options: Options | None = None) -> dict[str, Any]:
    """The validation record of one implementation (see `record.build`), not written anywhere."""
    options = options or Options()
    (entry,) = discover.select(f"{operator}/{impl}", options.zoo)
    return validate_many([entry], options)[0]


def validate_many(entries: list[Entry], options: Options) -> list[dict[str, Any]]:
    """Their records, in the same order."""
    run = _Run(options)
    results = run.check(entries, warm=options.rounds > 0) if len(entries) > 1 or run.device == "cpu" or options.rounds < 1 else {}
    standing = [entry for entry in entries if results.get(entry.id, {}).get("verdict") != "rejected"]
    if run.device == "cuda" and options.rounds > 0:
        timed = run.time(standing)
        for entry in standing:
            untimed = {**results.get(entry.id, {"verdict": "rejected"}), "stage": "measure", "hint": f"not timed: {BUDGET_SPENT}"}
            results[entry.id] = timed.get(entry.id, untimed)
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    records = {entry.id: record.build(entry, results[entry.id], run.gpu, date, run.seed) for entry in entries}
    accepted = [entry for entry in entries if records[entry.id]["verdict"] == "accepted"]
    if run.device == "cuda" and accepted:
        options.keep(list(records.values()))
        run.profile(accepted, records)
        run.sanitize(accepted, records)
    return list(records.values())


def judge_wrong(entries: list[Entry], options: Options) -> dict[str, dict[str, Any]]:
    """By operator: `{schema, operator, gpu, seed, date, hashes, variants: {name: {verdict, stage, category, hint}}}`.

    A variant in CUDA C++ that passes the checks goes to the sanitizer, as an implementation would: a race can be right by luck.
    """
    run = _Run(options)
    results = run.check(entries, warm=False)
    lucky = [entry for entry in entries if entry.has_cuda and results[entry.id]["verdict"] == "accepted"]
    for entry in lucky:
        results[entry.id]["sanitizer"] = {}
    run.sanitize(lucky, results)
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    found: dict[str, dict[str, Any]] = {}
    for entry in entries:
        page = found.setdefault(
            entry.operator,
            {
                "schema": record.SCHEMA,
                "operator": entry.operator,
                "gpu": run.gpu,
                "seed": run.seed,
                "date": date,
                "hashes": {},
                "variants": {},
            },
        )
        page["hashes"].update(discover.source_hashes(entry.operator, entry.name, options.zoo))
        page["variants"][entry.name] = {key: results[entry.id].get(key) for key in ("verdict", "stage", "category", "hint")}
    return found


def compile_many(entries: list[Entry], options: Options) -> list[dict[str, Any]]:
    """The compile records, in the same order; needs no GPU."""
    run = _Run(options)
    found = []
    for entry in entries:
        options.say(f"compile {entry.id}")
        result = _static(entry) or Worker(run.request("compile", [entry])).finish(options.timeout_s)
        found.append({"schema": record.SCHEMA, "operator": entry.operator, "impl": entry.name, "targets": {}, **result})
    return found


def _static(entry: Entry) -> dict[str, Any] | None:
    """A rejection that reading the source is enough for, else None. Checks against cheats in the text belong here."""
    try:
        tree = ast.parse(entry.source.read_text(encoding="utf-8"), entry.source.name)
    except SyntaxError as error:
        return {"verdict": "rejected", **from_exception(error, "static").as_dict()}
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    names |= {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets if isinstance(target, ast.Name)}
    if "run" not in names:
        hint = f'{entry.source.name} has no function "run"; the contract asks for one'
        return {"verdict": "rejected", **Finding("static", "symbol", hint).as_dict()}
    return None


class _Run:
    """One judgement of some entries: its device, seed and deadline."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.device = options.device if options.device != "auto" else ("cuda" if has_gpu() else "cpu")
        self.seed = secrets.randbelow(SEED_BOUND) if options.seed is None else options.seed
        self.deadline = time.monotonic() + options.budget_s if options.budget_s else float("inf")
        name = query_smi(("name",)) if self.device == "cuda" else []
        self.gpu = {"name": name[0] if name else self.device}

    @property
    def late(self) -> bool:
        """The budget is spent."""
        return time.monotonic() > self.deadline

    def request(self, mode: str, entries: list[Entry], **more: Any) -> dict[str, Any]:
        """What a worker is asked."""
        return {
            "mode": mode,
            "zoo": str(self.options.zoo),
            "entries": [[entry.operator, entry.name] for entry in entries],
            "device": self.device,
            "seed": self.seed,
            "rounds": self.options.rounds,
            "cases": self.options.cases,
            "max_bytes": CPU_CASE_BYTES if self.device == "cpu" else None,
            **more,
        }

    def check(self, entries: list[Entry], warm: bool) -> dict[str, dict[str, Any]]:
        """Entry id to result, a few workers at a time; `warm` compiles the baselines too."""

        def one(entry: Entry) -> dict[str, Any]:
            self.options.say(f"check {entry.id}")
            return _static(entry) or Worker(self.request("check", [entry], warm=warm)).finish(self.options.timeout_s)

        with ThreadPoolExecutor(self.options.jobs) as pool:
            results = dict(zip((entry.id for entry in entries), pool.map(one, entries)))
        if self.options.jobs > 1:  # memory may have been short because of the neighbours
            results.update({entry.id: one(entry) for entry in entries if results[entry.id].get("category") == "resource"})
        return results

    def time(self, entries: list[Entry]) -> dict[str, dict[str, Any]]:
        """Entry id to result, one worker on the GPU at a time; the next one's imports run meanwhile. Stops when the budget is spent."""
        results: dict[str, dict[str, Any]] = {}
        waiting = [Worker(self.request("time", [entry]), wait=True) for entry in entries[:1]]
        try:
            for number, entry in enumerate(entries):
                if self.late:
                    break
                worker = waiting[0]
                waiting += [Worker(self.request("time", [following]), wait=True) for following in entries[number + 1 : number + 2]]
                self.options.say(f"time {entry.id}")
                results[entry.id] = _static(entry) or worker.finish(self.options.timeout_s)
                worker.close()
                waiting.remove(worker)
        finally:
            for worker in waiting:
                worker.close()
        return results

    def sanitize(self, entries: list[Entry], records: dict[str, dict[str, Any]]) -> None:
        """Add sanitizer verdicts to the records; a finding rejects the entry."""
        reason = None if self.options.sanitizer else "left out on request"
        if reason is None and sanitize.find_sanitizer() is None:
            reason = "compute-sanitizer not found"
        for tool in sanitize.DEFAULT_TOOLS + sanitize.CUDA_TOOLS:
            chosen = [entry for entry in entries if tool in sanitize.DEFAULT_TOOLS or entry.has_cuda]
            why = reason or (BUDGET_SPENT if self.late else None)
            skipped = {entry.id: {"verdict": "skipped", "detail": why} for entry in chosen}
            verdicts = skipped if why else self._sanitize_with(tool, chosen)
            for entry_id, verdict in verdicts.items():
                records[entry_id]["sanitizer"][tool] = verdict
                if verdict["verdict"] == "fail":
                    record.reject(records[entry_id], "run", sanitize.CATEGORIES[tool], f"{tool}: {verdict['detail']}")
            self.options.keep(list(records.values()))

    def _sanitize_with(self, tool: str, entries: list[Entry]) -> dict[str, dict[str, Any]]:
        """One process for all; unless that passes, one each."""
        if not entries:
            return {}
        self.options.say(f"{tool} over {', '.join(entry.id for entry in entries)}")
        folder = Path(tempfile.mkdtemp(prefix="warplore-"))
        log = folder / "log"
        worker = Worker(
            self.request("run", entries, env=sanitize.ENVIRONMENT), wrap=lambda command: sanitize.command_for(tool, command, log)
        )
        limit = min(SANITIZER_TIMEOUT_S + SANITIZER_ENTRY_S * len(entries), max(1.0, self.deadline - time.monotonic()))
        result = worker.finish(limit)
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        shutil.rmtree(folder, ignore_errors=True)
        if result.get("category") == "hang":  # under the tool: without it the entry was checked and timed
            slow = {"verdict": "skipped", "detail": f"no answer from {len(entries)} entries within {limit:.0f} s under {tool}"}
            return {entry.id: slow for entry in entries}
        found = sanitize.verdict(worker.returncode, text, finished=result["verdict"] == "accepted")
        if found["verdict"] == "pass" or len(entries) == 1:
            return {entry.id: found for entry in entries}
        return {entry.id: verdict for each in entries for entry, verdict in [(each, self._sanitize_with(tool, [each])[each.id])]}

    def profile(self, entries: list[Entry], records: dict[str, dict[str, Any]]) -> None:
        """Add the key ncu metrics to the records; a profiler that fails rejects nothing."""
        why = None if self.options.ncu else "left out on request"
        why = why or (None if profile.find_ncu() else "ncu not found") or (BUDGET_SPENT if self.late else None)
        if why or not entries:
            for entry in entries:
                records[entry.id]["ncu"] = {"skipped": why}
            return
        self.options.say(f"ncu over {', '.join(entry.id for entry in entries)}")
        folder = Path(tempfile.mkdtemp(prefix="warplore-"))
        log = folder / "log"
        result = Worker(self.request("profile", entries), wrap=lambda command: profile.command_for(command, log)).finish(profile.TIMEOUT_S)
        try:
            groups = profile.parse(log.read_text(encoding="utf-8", errors="replace") if log.exists() else "")
        except LookupError as error:
            groups, result = [], {"hint": str(error)}
        shutil.rmtree(folder, ignore_errors=True)
        profiled = result.get("cases", {})
        if len(groups) != len(profiled) or not profiled:
            why = result.get("hint") or f"{len(groups)} groups of launches for {len(profiled)} entries"
        for entry in entries:
            records[entry.id]["ncu"] = {"skipped": why or "it has no timed case"}
        if not why:
            for (entry_id, case), launches in zip(profiled.items(), groups):
                found = {"case": case, **profile.key_metrics(launches)} if launches else {"skipped": "no kernel launched"}
                records[entry_id]["ncu"] = found
        self.options.keep(list(records.values()))

"""Judge entries of the zoo in isolated processes and return their records. Imports no torch: the CLI may import it anywhere.

Order for many implementations: all are read, then checked, a few at a time (which also fills the compilers' caches); then the operators
are timed one after the other while the next referee's imports are under way; then the sanitizers and the profiler run over what stands.
"""

from __future__ import annotations

import contextlib
import datetime
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from . import champions, cheats, discover, profile, record, sandbox, sanitize, static
from .device import query_smi
from .discover import Entry
from .findings import Finding, answer, rejected
from .process import Worker

SEED_BOUND = 1 << 31
CPU_CASE_BYTES = 1 << 20
"""Largest case in Triton's interpreter, which takes seconds for a megabyte."""
REFEREE_S = 2.5
"""A referee may take this many times `Options.timeout_s` for each of its candidates: it bounds every call of theirs by itself."""
SANITIZER_TIMEOUT_S, SANITIZER_ENTRY_S = 40, 4
"""For one process, and for each entry in it. On an H200 memcheck took 12 s over 13 entries."""
BUDGET_SPENT = "the time budget was spent"


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge."""

    device: str = "auto"
    """cuda, cpu or auto: cuda where there is one."""
    rounds: int = 30
    """Interleaved rounds of timing; 0 checks only."""
    gate: bool = True
    """Reject what beats neither its parent nor, from outside the zoo, the present champion, in any timed case."""
    sanitizer: bool = True
    ncu: bool = True
    timeout_s: float = 240
    """For the first call of a case, compilation and autotuning included; later calls have a multiple of the baseline's time."""
    budget_s: float | None = None
    """Steps not begun after this are left out, and the records say so."""
    jobs: int = 4
    """Workers at a time while nothing is timed."""
    repeats: int = 1
    """How often every case is checked, each time on fresh data and other drawn shapes."""
    huge: bool = True
    """Check the cases past 2**31 bytes too."""
    known: Callable[[Entry], dict[str, Any] | None] = field(default=lambda entry: None)
    """A record of these very sources, from an interrupted run: what it holds is not done again."""
    cases: str = ""
    """Only cases whose name contains this."""
    zoo: Path = discover.ZOO
    case: dict[str, Any] | None = None
    """One case instead of the contract's: `{shape, dtype, distribution}`, from a saved failure."""
    seed: int | None = None
    """None draws a fresh one; the record keeps it."""
    limits: static.Limits | None = None
    """Of the GPU, for the checks before any run; without them only the sources are read."""
    say: Callable[[str], None] = field(default=lambda text: None)
    """Progress, one line at a time."""
    keep: Callable[[list[dict[str, Any]]], None] = field(default=lambda records: None)
    """Called with the records so far after every step that adds to them, so that an interrupted run loses one step."""
    keep_pages: Callable[[dict[str, dict[str, Any]]], None] = field(default=lambda pages: None)
    """The same for the pages of wrong variants."""


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
    known = {entry.id: _usable(options.known(entry), entry) for entry in entries}
    results = {entry_id: dict(found) for entry_id, found in known.items() if found}
    fresh = [entry for entry in entries if not known[entry.id]]
    with run.timer_ahead(fresh) as timer:
        results |= run.check(fresh, warm=options.rounds > 0)
        untimed = [entry for entry in entries if results[entry.id]["verdict"] == "accepted" and not results[entry.id].get("timings")]
        timed = {}
        if run.device == "cuda" and options.rounds > 0 and untimed:
            run.warm([entry for entry in untimed if known[entry.id]])
            timed = run.time(untimed, timer=timer if untimed == fresh else None)
    if run.device == "cuda" and options.rounds > 0:
        for entry in untimed:
            found = timed.get(entry.id, {"hint": f"{record.UNTIMED}: {BUDGET_SPENT}"})
            if found.get("verdict") == "error":  # of the judge: the checks stand
                found = {"hint": f"{record.UNTIMED}: {found['hint']}"}
            results[entry.id] |= {key: value for key, value in found.items() if key not in ("cases", "gpu", "toolchain", "isolation")}
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    records = {entry.id: record.build(entry, found := results[entry.id], run.gpu, date, found.get("seed", run.seed)) for entry in entries}
    accepted = [entry for entry in entries if records[entry.id]["verdict"] == "accepted"]
    if run.device == "cuda" and accepted:
        options.keep(list(records.values()))
        run.profile([entry for entry in accepted if "metrics" not in records[entry.id]["ncu"] and not entry.is_attempt], records)
        unsearched = [entry for entry in accepted if not _clean(records[entry.id]["sanitizer"]) and not entry.is_attempt]
        run.compile_small([entry for entry in unsearched if known[entry.id]])
        run.sanitize(unsearched, records)
    for entry in accepted:
        run.gate(entry, records[entry.id])
    return list(records.values())


def _usable(found: dict[str, Any] | None, entry: Entry) -> dict[str, Any] | None:
    """A kept record that says accepted of the sources as they are, without the parts that were skipped."""
    if not found or found["verdict"] != "accepted" or found["hashes"] != discover.entry_hashes(entry):
        return None
    return {**found, "hint": None, "ncu": found["ncu"] if "metrics" in found["ncu"] else {}}


def _clean(sanitizer: dict[str, dict[str, Any]]) -> bool:
    return bool(sanitizer) and all(found["verdict"] == "pass" for found in sanitizer.values())


def judge_wrong(entries: list[Entry], options: Options) -> dict[str, dict[str, Any]]:
    """By operator: `{schema, operator, gpu, seed, date, hashes, variants: {name: answer}}`, each answer with `expected_as` and `trick`.

    A variant that passes the checks is timed, and then goes to the sanitizers, as an implementation would: a race can be right by luck.
    """
    run = _Run(options)
    results = run.check(entries, warm=False)
    options.keep_pages(_wrong_pages(run, entries, results))

    def lucky() -> list[Entry]:
        return [entry for entry in entries if results[entry.id]["verdict"] == "accepted"] if run.device == "cuda" else []

    if options.rounds > 0 and (untimed := lucky()):
        timed = run.time(untimed, eager=True)
        for entry in untimed:
            missing = {"verdict": "unfinished", "hint": f"passed the checks; {record.UNTIMED}: {BUDGET_SPENT}"}
            results[entry.id] |= {key: value for key, value in timed.get(entry.id, missing).items() if key != "cases"}
        options.keep_pages(_wrong_pages(run, entries, results))
    if unsearched := lucky():
        for entry in unsearched:
            results[entry.id]["sanitizer"] = {}
        run.sanitize(unsearched, results, keep=False)
        for entry in lucky():
            if any(found["verdict"] == "skipped" for found in results[entry.id]["sanitizer"].values()):
                results[entry.id] |= {"verdict": "unfinished", "hint": "passed what ran; a sanitizer was skipped"}
    return _wrong_pages(run, entries, results)


def _wrong_pages(run: _Run, entries: list[Entry], results: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    found: dict[str, dict[str, Any]] = {}
    for entry in entries:
        head = {"schema": record.SCHEMA, "operator": entry.operator, "gpu": run.gpu, "seed": run.seed, "date": date}
        page = found.setdefault(entry.operator, {**head, "hashes": {}, "variants": {}})
        page["hashes"].update(discover.entry_hashes(entry))
        wanted = static.expected_rejection(entry.source)
        page["variants"][entry.name] = {**answer({**results[entry.id], "replay": None}), "expected_as": list(wanted) if wanted else None}
    return found


def compile_many(entries: list[Entry], options: Options) -> list[dict[str, Any]]:
    """The compile records, in the same order; needs no GPU."""
    run = _Run(options)
    found = []
    for entry in entries:
        options.say(f"compile {entry.id}")
        finding = static.check(entry)
        result = rejected(finding) if finding else Worker(run.request("compile", [entry])).finish(options.timeout_s)
        found.append({"schema": record.SCHEMA, "operator": entry.operator, "impl": entry.name, "targets": {}, **result})
    return found


class _Run:
    """One judgement of some entries: its device, seed and deadline."""

    def __init__(self, options: Options) -> None:
        sandbox.conceal()  # this process knows the keys of its referees
        self.options = options
        self.device = options.device if options.device != "auto" else ("cuda" if has_gpu() else "cpu")
        self.seed = secrets.randbelow(SEED_BOUND) if options.seed is None else options.seed
        self.deadline = time.monotonic() + options.budget_s if options.budget_s else float("inf")
        name = query_smi(("name",)) if self.device == "cuda" else []
        self.gpu = {"name": name[0] if name else self.device}
        self.sanitizers = threading.Semaphore(sanitize.AT_ONCE)

    @property
    def late(self) -> bool:
        """The budget is spent."""
        return time.monotonic() > self.deadline

    def request(self, mode: str, entries: list[Entry], **more: Any) -> dict[str, Any]:
        """What a worker is asked."""
        return {
            "mode": mode,
            "zoo": str(self.options.zoo),
            "entries": [[entry.operator, entry.name, str(entry.folder), str(entry.contract or "") or None] for entry in entries],
            "device": self.device,
            "seed": self.seed,
            "rounds": self.options.rounds,
            "timeout_s": self.options.timeout_s,
            "cases": self.options.cases,
            "case": self.options.case,
            "repeats": self.options.repeats,
            "huge": self.options.huge,
            "max_bytes": CPU_CASE_BYTES if self.device == "cpu" else None,
            **more,
        }

    def check(self, entries: list[Entry], warm: bool) -> dict[str, dict[str, Any]]:
        """Entry id to result, a few referees at a time; `warm` compiles the baselines too."""

        def one(entry: Entry) -> dict[str, Any]:
            finding = static.check(entry, self.options.limits)
            if finding:
                return rejected(finding)
            self.options.say(f"check {entry.id}")
            return Worker(self.request("check", [entry], warm=warm)).finish(REFEREE_S * self.options.timeout_s)

        with ThreadPoolExecutor(self.options.jobs) as pool:
            results = dict(zip((entry.id for entry in entries), pool.map(one, entries)))
        if self.options.jobs > 1:  # memory may have been short because of the neighbours
            short = [
                entry for entry in entries if results[entry.id].get("category") == "resource" and results[entry.id]["stage"] != "static"
            ]
            results.update({entry.id: one(entry) for entry in short})
        return results

    def warm(self, entries: list[Entry]) -> None:
        """Fill the compilers' caches with the baselines of the entries' operators, a few at a time."""
        first = list({entry.operator: entry for entry in entries}.values())
        with ThreadPoolExecutor(self.options.jobs) as pool:
            list(pool.map(lambda entry: Worker(self.request("warm", [entry])).finish(self.options.timeout_s), first))

    def compile_small(self, entries: list[Entry]) -> None:
        """Fill the compilers' caches with what the sanitizers will run: under one of them a compiler takes longer than the kernel."""
        wanted = entries if self.options.sanitizer and not self.late else []
        with ThreadPoolExecutor(self.options.jobs) as pool:
            list(pool.map(lambda entry: Worker(self.request("run", [entry])).finish(self.options.timeout_s), wanted))

    def opponents(self, entry: Entry) -> list[str]:
        """Ids of the implementations to beat: its parent, and the present champion of its operator on this GPU."""
        champion = champions.champion(entry.operator, discover.gpu_slug(self.gpu["name"]), self.options.zoo)
        names = [discover.parent_of(entry), f"zoo/{entry.operator}/{champion}" if champion else None]
        return list(dict.fromkeys(name for name in names if name and name != f"zoo/{entry.id}"))

    @contextlib.contextmanager
    def timer_ahead(self, entries: list[Entry]) -> Iterator[Worker | None]:
        """The referee that will time the entries of one operator, its imports under way while they are checked; it holds no GPU."""
        wanted = self.device == "cuda" and self.options.rounds > 0 and len({entry.operator for entry in entries}) == 1
        timer = self._timer(entries, eager=False) if wanted else None
        try:
            yield timer
        finally:
            if timer and timer.process.returncode is None:
                timer.close()

    def time(self, entries: list[Entry], eager: bool = False, timer: Worker | None = None) -> dict[str, dict[str, Any]]:
        """Entry id to result, one referee for each operator and one at a time; the next one's imports run meanwhile.

        Args:
            eager: only against what needs no compiling, which is enough to find a cheat.
            timer: of these very entries, already started.
        """
        groups = [list(group) for _, group in groupby(sorted(entries, key=lambda entry: entry.operator), key=lambda entry: entry.operator)]
        results: dict[str, dict[str, Any]] = {}
        waiting = [timer or self._timer(group, eager) for group in groups[:1]]
        try:
            for number, group in enumerate(groups):
                if self.late:
                    break
                worker = waiting.pop(0)
                waiting += [self._timer(following, eager) for following in groups[number + 1 : number + 2]]
                self.options.say(f"time {', '.join(entry.id for entry in group)}")
                results.update(self._timed(worker, group, eager))
        finally:
            for worker in waiting:
                worker.close()
        return results

    def _timed(self, worker: Worker, group: list[Entry], eager: bool) -> dict[str, dict[str, Any]]:
        """By entry id; those that a referee which died or hung owes are timed again by themselves, so that each answers for itself."""
        found = worker.finish(REFEREE_S * self.options.timeout_s * len(group))
        results = dict(found.get("results", {}))
        for entry in (entry for entry in group if entry.id not in results):
            if len(group) == 1:
                results[entry.id] = found
            elif not self.late:
                results |= self._timed(self._timer([entry], eager), [entry], eager)
        return results

    def _timer(self, group: list[Entry], eager: bool) -> Worker:
        opponents = {entry.id: [] if eager else self.opponents(entry) for entry in group}
        paths = {name: str(self.options.zoo / f"{name.removeprefix('zoo/')}.py") for names in opponents.values() for name in names}
        return Worker(self.request("time", group, opponents=opponents, others=paths, eager=eager), wait=True)

    def gate(self, entry: Entry, found: dict[str, Any]) -> None:
        """Reject what is slower than what it should improve on, in every timed case."""
        outside = entry.contract is not None and not entry.is_attempt
        wanted = discover.parent_of(entry) or (next(iter(self.opponents(entry)), None) if outside else None)
        rivals = [timing["baselines"][wanted] for timing in found["timings"] if "verdict" in timing["baselines"].get(wanted, {})]
        if not self.options.gate or found["verdict"] != "accepted" or not rivals or any(item["verdict"] == "faster" for item in rivals):
            return
        best = max(rivals, key=lambda item: item["speedup"])
        times = f"{best['speedup']:.3f} times as fast (interval {best['low']:.3f} to {best['high']:.3f})"
        hint = f"beats {wanted} in none of {len(rivals)} timed cases; at best {times}"
        finding = Finding("measure", "slower", hint, expected="faster in one timed case", actual=f"{best['speedup']:.3f}")
        found.update(rejected(finding))

    def sanitize(self, entries: list[Entry], records: dict[str, dict[str, Any]], keep: bool = True) -> None:
        """Add sanitizer verdicts to the records; a finding rejects the entry. The tools run side by side."""
        reason = None if self.options.sanitizer else "left out on request"
        if reason is None and sanitize.find_sanitizer() is None:
            reason = "compute-sanitizer not found"
        reason = reason or (BUDGET_SPENT if self.late else None)
        with ThreadPoolExecutor(len(sanitize.TOOLS)) as pool:
            waiting = {}
            for tool in sanitize.TOOLS:
                chosen = [entry for entry in entries if tool in sanitize.ANY_KERNEL or entry.has_cuda]
                skipped = {entry.id: {"verdict": "skipped", "detail": reason} for entry in chosen}
                waiting[pool.submit(lambda skipped=skipped: skipped) if reason else pool.submit(self._sanitize_all, tool, chosen)] = tool
            for done in as_completed(waiting):
                tool = waiting[done]
                for entry_id, verdict in done.result().items():
                    records[entry_id]["sanitizer"][tool] = verdict
                    if verdict["verdict"] == "fail" and records[entry_id]["verdict"] == "accepted":
                        record.reject(records[entry_id], sanitize.finding(tool, verdict))
                if keep:
                    self.options.keep(list(records.values()))

    def _sanitize_all(self, tool: str, entries: list[Entry]) -> dict[str, dict[str, Any]]:
        """A few processes at a time, each for several entries where the tool bears that; what does not pass is asked again alone."""
        alone = [entry for entry in entries if tool not in sanitize.ANY_KERNEL and sanitize.spins(entry.source)]
        others = [entry for entry in entries if entry not in alone]
        groups = [others[start : start + sanitize.TOGETHER] for start in range(0, len(others), sanitize.TOGETHER)]
        groups += [[entry] for entry in alone]
        with ThreadPoolExecutor(sanitize.AT_ONCE) as pool:
            verdicts = list(pool.map(lambda group: self._sanitize_with(tool, group), groups))
            found = {entry.id: verdict for group, verdict in zip(groups, verdicts) for entry in group}
            again = [entry for group in groups if len(group) > 1 for entry in group if found[entry.id]["verdict"] != "pass"]
            found.update(zip((entry.id for entry in again), pool.map(lambda entry: self._sanitize_with(tool, [entry]), again)))
        return found

    def _sanitize_with(self, tool: str, entries: list[Entry]) -> dict[str, Any]:
        """The verdict of one sanitizer process over some entries; an entry alone is asked again where the tool gave no answer."""
        found = {"verdict": "skipped", "detail": BUDGET_SPENT}
        with self.sanitizers:
            for _ in range(sanitize.TRIES if len(entries) == 1 else 1):
                if self.late:
                    break
                found = self._sanitizer_verdict(tool, entries)
                if found["verdict"] != "skipped":
                    break
        return found

    def _sanitizer_verdict(self, tool: str, entries: list[Entry]) -> dict[str, Any]:
        self.options.say(f"{tool} over {', '.join(entry.id for entry in entries)}")
        folder = Path(tempfile.mkdtemp(prefix="warplore-"))
        log = folder / "log"
        request = self.request("run", entries, env=sanitize.ENVIRONMENT)
        worker = Worker(request, wrap=lambda command: sanitize.command_for(tool, command, log))
        limit = min(SANITIZER_TIMEOUT_S + SANITIZER_ENTRY_S * len(entries), max(1.0, self.deadline - time.monotonic()))
        result = worker.finish(limit)
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        shutil.rmtree(folder, ignore_errors=True)
        if result.get("category") == "hang":  # under the tool: without it the entry was checked and timed
            return {"verdict": "skipped", "detail": f"no answer within {limit:.0f} s under {tool}"}
        return sanitize.verdict(worker.returncode, text, finished=result["verdict"] == "accepted")

    def profile(self, entries: list[Entry], records: dict[str, dict[str, Any]]) -> None:
        """Add the key ncu metrics to the records. A profiler that fails rejects nothing; a library's kernel among the launches does."""
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
                if foreign := cheats.foreign_names(row["Kernel Name"] for row in launches):
                    hint = f"a library does the work: {', '.join(foreign[:3])}; seen by ncu from outside the process"
                    record.reject(records[entry_id], Finding("correctness", "cheat", hint, foreign[0], case=case))
        self.options.keep(list(records.values()))

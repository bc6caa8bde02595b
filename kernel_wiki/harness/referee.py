"""The trusted process of the judge: it holds contract, inputs, references and baselines, and asks candidates in their own processes."""

from __future__ import annotations

import dataclasses
import fcntl
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import discover
from .discover import Entry
from .findings import Finding, Rejected, from_exception, rejected

if TYPE_CHECKING:
    from .bench import Bench
    from .candidate import Candidate

REPEAT_SEED = 1_000_003
"""Between the seeds of two repetitions; each uses some thousand from its own on."""
CLOCK_GRAIN_NS = 1_000_000_000
"""File systems stamp with a clock that lags; what an honest process wrote within it is what its source compiles to."""
MEMORY_FRACTION = 0.5
"""Of the GPU's memory that a candidate may take; the referee's inputs, references and buffers need the rest."""


def check(request: dict[str, Any], report: Callable[..., None]) -> dict[str, Any]:
    """Check one candidate on every case, drawn ones among them; on a mismatch look for the smallest failing case.

    Raises:
        Rejected: the contract has no case that fits the request.
    """
    (candidate,) = prestart(request)  # it imports torch while this process does
    from .correctness import check as check_cases
    from .load import chosen_cases, load_module

    (entry,) = entries_of(request)
    contract = load_module(entry.contract_path, entry.operator)
    cases = _one_case(request) or chosen_cases(contract, request.get("cases", ""), request.get("max_bytes"))
    if not cases:
        raise Rejected("static", "symbol", f"no case of {entry.operator} fits the request; a check that ran over nothing has failed")

    def look(bench: Bench, result: dict[str, Any]) -> None:
        bench.only_given = bool(request.get("case") or request.get("cases"))
        usual = [case for case in cases if not case.huge]
        for turn in range(request.get("repeats", 1)):
            bench.seed = request["seed"] + turn * REPEAT_SEED
            result["cases"] = check_cases(bench, usual, report)
        huge = [case for case in cases if case.huge and request.get("huge", True)]
        _observe(bench, contract, cases, request, report)
        with _alone(bool(huge)):
            result["cases"] += _huge_cases(bench, huge, report)
        if request.get("warm"):
            from .measure import warm_baselines

            report("measure")
            warm_baselines(contract, [case for case in cases if case.timed], request["seed"])

    result = judged(look, entry, contract, request, candidate)
    if (result["stage"], result["category"]) == ("correctness", "mismatch"):
        result["replay"] = _smallest(entry, contract, request, result)
    return result


def warm(request: dict[str, Any], report: Callable[..., None]) -> dict[str, Any]:
    """Compile the baselines of one operator, for nothing but the compilers' caches."""
    from .load import load_module
    from .measure import warm_baselines

    (entry,) = entries_of(request)
    contract = load_module(entry.contract_path, entry.operator)
    report("measure")
    warm_baselines(contract, [case for case in contract.CASES if case.timed], request["seed"])
    return {"verdict": "accepted"}


def time_entries(request: dict[str, Any], report: Callable[..., None]) -> dict[str, Any]:
    """`{results: {entry id: result}}`: time several implementations of one operator, one after the other, against the same baselines."""
    from .load import load_module
    from .measure import measure

    entries = entries_of(request)
    contract = load_module(entries[0].contract_path, entries[0].operator)
    cases = [case for case in contract.CASES if case.timed and request.get("cases", "") in case.name]
    if request.get("eager"):
        contract.BASELINES = {name: function for name, function in contract.BASELINES.items() if "compile" not in name}
    others = {name: load_module(Path(path), entries[0].operator).run for name, path in request.get("others", {}).items()}
    results = {}
    waiting = _started or prestart(request)
    try:
        for entry in entries:
            theirs = {name: run for name, run in others.items() if name in request["opponents"].get(entry.id, ())}

            def clock(bench: Bench, result: dict[str, Any], theirs: dict[str, Any] = theirs) -> None:
                result.update(measure(bench, cases, request["rounds"], theirs, report))

            results[entry.id] = judged(clock, entry, contract, request, waiting.pop(0))
            report.keep({"results": results})
    finally:
        for candidate in waiting:
            candidate.close()
    return {"results": results}


_started: list[Candidate] = []
"""Processes that wait with their imports done; they hold no GPU until they load a candidate."""


def prestart(request: dict[str, Any]) -> list[Candidate]:
    """Start the processes of a request's candidates: importing torch takes longer than the measuring."""
    from .candidate import Candidate

    _started.extend(Candidate(entry, request["device"], MEMORY_FRACTION) for entry in entries_of(request))
    return _started


def judged(
    look: Callable[[Bench, dict[str, Any]], None], entry: Entry, contract: ModuleType, request: dict[str, Any], candidate: Any = None
) -> dict[str, Any]:
    """Load the candidate in a process of its own, or in one already started, and let `look` fill the result; what it raises rejects."""
    from .bench import Bench
    from .candidate import Candidate
    from .device import describe, toolchain

    device = request["device"]
    result: dict[str, Any] = {"gpu": describe(device), "toolchain": toolchain(), "cases": [], "timings": []}
    guarded, began_ns = discover.tree_hash(request["zoo"]), time.time_ns() - CLOCK_GRAIN_NS
    candidate = candidate or Candidate(entry, device, MEMORY_FRACTION)
    bench = Bench(contract, device, candidate, request["seed"], request["timeout_s"], deterministic=discover.is_deterministic(entry))
    try:
        _refuse_tampering(candidate.load(request["timeout_s"]), "replaced while it was imported")
        look(bench, result)
        result.update(verdict="accepted", stage=None, category=None)
    except Rejected as error:
        found = error.finding
        result.update(rejected(found if found.case else dataclasses.replace(found, case=candidate.case or None)))
    except Exception as error:  # of the contract, of a baseline, or ours: no word about the candidate
        found = from_exception(error, "run")
        hint = f"the judge failed, not the candidate: {found.hint}"
        result.update({**rejected(dataclasses.replace(found, hint=hint, case=candidate.case or None)), "verdict": "error"})
    finally:
        candidate.close()
        result["isolation"] = {**(candidate.isolation or {}), "process": "own session, killed as a group"}
    forged = discover.forged_bytecode(request["zoo"], began_ns)
    for path in forged:
        path.unlink(missing_ok=True)
    if forged:
        hint = f"bytecode in place of a source's was left for the next run: {', '.join(path.name for path in forged[:3])}"
        result.update(rejected(Finding("run", "cheat", hint)))
    if discover.tree_hash(request["zoo"]) != guarded:
        result.update(rejected(Finding("run", "cheat", "files of the zoo or of the harness changed while the candidate ran")))
    return result


def _one_case(request: dict[str, Any]) -> list[Any]:
    """The saved failing case that a replay asks for."""
    from .contract import Case

    asked = request.get("case")
    return [Case(asked["shape"], asked["dtype"], asked["distribution"])] if asked else []


def entries_of(request: dict[str, Any]) -> list[Entry]:
    """The entries that a request names."""
    return [
        Entry(operator, name, Path(folder), Path(contract) if contract else None) for operator, name, folder, contract in request["entries"]
    ]


def _huge_cases(bench: Any, cases: list[Any], report: Callable[..., None]) -> list[dict[str, Any]]:
    from .correctness import check_case

    found = []
    for number, case in enumerate(cases):
        report("run", case.name)
        bench.candidate.stage, bench.candidate.case = "run", case.name
        found.append(check_case(bench, case, bench.seed + 900 + number))
    return found


@contextmanager
def _alone(needed: bool) -> Iterator[None]:
    """Huge cases take tens of gigabytes: one process of this machine at a time."""
    if not needed:
        yield
        return
    with (Path(tempfile.gettempdir()) / "warplore-huge.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _observe(bench: Any, contract: ModuleType, cases: list[Any], request: dict[str, Any], report: Callable[..., None]) -> None:
    """One call on the smallest and on the largest case that are not huge: whose code does the work, and what it leaves behind.

    Raises:
        Rejected: a library does the work, functions were replaced, or threads are left.
    """
    from .correctness import make_inputs

    allowed = getattr(contract, "ALLOWED_OPS", ())
    usual = sorted((case for case in cases if not case.huge), key=lambda case: contract.work(case).bytes_moved)
    for case in {case.name: case for case in (usual[:1] + usual[-1:])}.values():
        report("correctness", case.name)
        bench.candidate.case = case.name
        bench.bind("o", make_inputs(contract, case, bench.device, request["seed"] + 300))
        seen = bench.candidate.ask("observe", bench.timeout_s, slot="o", moves=contract.work(case).flops == 0)
        bench.release()
        work = [] if "*" in allowed else [*(name for name in seen["operators"] if name not in allowed), *seen["kernels"]]
        if work:
            hint = f"a library does the work: {', '.join(work[:3])}; the contract asks for a kernel of the candidate's own"
            raise Rejected("correctness", "cheat", hint, case=case.name)
    _refuse_tampering(bench.candidate.ask("tampered", bench.timeout_s), "replaced while it ran")


def _refuse_tampering(found: dict[str, Any], when: str) -> None:
    if found["replaced"]:
        raise Rejected("correctness", "cheat", f"functions that the judge relies on were {when}: {', '.join(found['replaced'][:3])}")
    if found["threads"]:
        raise Rejected("correctness", "cheat", f"threads are alive after the call returned: {', '.join(found['threads'][:3])}")


def _smallest(entry: Entry, contract: ModuleType, request: dict[str, Any], result: dict[str, Any]) -> str | None:
    """Path of the saved smallest failing case; None when the failure does not come back by itself."""
    from . import shrink
    from .correctness import check_case, check_view, fresh_cases

    name, _, view = (result["case"] or "").removesuffix(" view").partition(" as ")
    seeds = [request["seed"] + turn * REPEAT_SEED for turn in range(request.get("repeats", 1))]
    known = [*contract.CASES, *(case for seed in seeds for case in fresh_cases(contract, seed, request["device"]))]
    failing = next((case for case in known if case.name == name and not case.huge), None)
    if failing is None:
        return None
    saved: list[str] = []

    def look(bench: Bench, _: dict[str, Any]) -> None:
        found: dict[str, dict[str, Any]] = {}

        def fails(case: Any) -> bool:
            bench.candidate.stage, bench.candidate.case = "run", case.name
            try:
                if view:
                    check_view(bench, case, request["seed"], view, contract.VIEWS[view])
                else:
                    check_case(bench, case, request["seed"])
            except Rejected as error:
                found[case.name] = error.finding.as_dict()
                return error.finding.category == "mismatch"
            return False

        if fails(failing):
            small = shrink.smallest(contract, failing, fails)
            finding, hashes = found[small.name], discover.entry_hashes(entry)
            saved.append(str(shrink.save(entry.operator, entry.name, small, request["seed"], view or None, finding, hashes)))
            if small.name != failing.name:
                result["hint"] += f"; smallest failing case found: {small.name}"

    judged(look, entry, contract, request)
    return saved[0] if saved else None

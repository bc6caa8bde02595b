"""The isolated process: `python -m kernel_wiki.harness.worker request.json result.json [--wait]`.

A request is `{mode, zoo, entries: [[operator, name]], device, seed, rounds, cases, max_bytes}`. Modes: `check` and `time` judge the one
entry, `run` calls every entry on small cases (under a sanitizer), `profile` calls each once on a timed case between profiler marks,
`compile` builds the one entry for its targets. The result is a JSON object; where the process dies, its last stage and case stand in
`result.json.progress`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from .discover import Entry
from .findings import Rejected, from_exception

Report = Any
"""Called with (stage, case name) before each step."""


def main(arguments: list[str]) -> int:
    """Carry out one request and write its result; the exit status says only whether a result was written."""
    request = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    result_path = Path(arguments[1])
    progress = result_path.with_name(result_path.name + ".progress")
    if "--wait" in arguments:  # imports are done while another worker has the GPU
        import torch  # noqa: F401
        import triton  # noqa: F401

        sys.stdin.readline()

    if os.environ.get("TRITON_INTERPRET") == "1":
        from .interpreter import repair

        repair()

    def report(stage: str, case: str = "") -> None:
        report.stage = stage
        with progress.open("a", encoding="utf-8") as file:
            file.write(f"{stage}\t{case}\n")

    report("static")
    try:
        result = MODES[request["mode"]](request, report)
    except Exception as error:
        result = {"verdict": "rejected", **from_exception(error, report.stage).as_dict()}
    partial = result_path.with_name(result_path.name + ".partial")
    partial.write_text(json.dumps(result), encoding="utf-8")
    partial.replace(result_path)
    return 0


def _entries(request: dict[str, Any]) -> list[Entry]:
    return [Entry(operator, name, Path(request["zoo"]) / operator) for operator, name in request["entries"]]


def _load(entry: Entry) -> tuple[ModuleType, Any]:
    """Contract first: the candidate must not be able to alter what it is checked against before that is loaded."""
    from .load import load_candidate, load_module

    return load_module(entry.folder / "contract.py", entry.operator), load_candidate(entry.source, entry.operator)


def judge(request: dict[str, Any], report: Report) -> dict[str, Any]:
    """Check every case, then time the timed ones if the mode asks for it.

    Raises:
        Rejected: the contract has no case that fits the request.
    """
    from .correctness import check_case
    from .device import describe, toolchain
    from .load import chosen_cases

    (entry,) = _entries(request)
    device = request["device"]
    contract, run = _load(entry)
    cases = chosen_cases(contract, request.get("cases", ""), request.get("max_bytes"))
    if not cases:
        raise Rejected("static", "symbol", f"no case of {entry.operator} fits the request; a check that ran over nothing has failed")
    result: dict[str, Any] = {"gpu": describe(device), "toolchain": toolchain(), "cases": [], "timings": []}
    try:
        for number, case in enumerate(cases):
            report("run", case.name)
            result["cases"].append(check_case(run, contract, case, device, request["seed"] + 2 * number))
        if request["mode"] == "time":
            from .measure import measure

            report("measure")
            result.update(measure(run, contract, [case for case in cases if case.timed], request, report))
        elif request.get("warm"):
            from .measure import warm_baselines

            report("measure")
            warm_baselines(contract, [case for case in cases if case.timed], request["seed"])
    except Exception as error:
        return {**result, "verdict": "rejected", **from_exception(error, report.stage).as_dict()}
    return {**result, "verdict": "accepted", "stage": None, "category": None, "hint": None}


def run_small(request: dict[str, Any], report: Report) -> dict[str, Any]:
    """Call every entry on its small cases, and nothing else: for a sanitizer, which slows everything."""
    import torch

    from .correctness import make_inputs
    from .load import small_cases

    for entry in _entries(request):
        contract, run = _load(entry)
        for case in small_cases(contract):
            report("run", f"{entry.id} {case.name}")
            # Drawn on the CPU: the candidate's kernels are the only ones that the tool sees.
            inputs = make_inputs(contract, case, "cpu", request["seed"])
            run(*(value.to(request["device"]) if isinstance(value, torch.Tensor) else value for value in inputs))
            if request["device"] == "cuda":
                torch.cuda.synchronize()
    return {"verdict": "accepted"}


def run_profiled(request: dict[str, Any], report: Report) -> dict[str, Any]:
    """Call every entry once between profiler marks, a marker kernel before each; `{cases: {entry id: case name}}`."""
    import torch

    from .correctness import make_inputs
    from .load import timed_case
    from .profile import launch_marker

    cases = {}
    for entry in _entries(request):
        contract, run = _load(entry)
        case = timed_case(contract)
        if case is None:
            continue
        report("run", f"{entry.id} {case.name}")
        inputs = make_inputs(contract, case, request["device"], request["seed"])
        for _ in range(2):  # compile and autotune outside the profile
            run(*inputs)
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        launch_marker()
        run(*inputs)
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
        cases[entry.id] = case.name
    return {"verdict": "accepted", "cases": cases}


def build(request: dict[str, Any], report: Report) -> dict[str, Any]:
    """Compile the entry for its targets."""
    from .compile import compile_entry
    from .load import load_module

    (entry,) = _entries(request)
    report("compile")
    return compile_entry(entry, load_module(entry.source, entry.operator))


MODES = {"check": judge, "time": judge, "run": run_small, "profile": run_profiled, "compile": build}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

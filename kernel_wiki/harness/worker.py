"""The isolated process: `python -m kernel_wiki.harness.worker request.json result.json [--wait] [--signed]`.

A request is `{mode, zoo, entries: [[operator, name, folder, contract | null]], device, seed, rounds, cases, max_bytes}`. Modes: `check`,
`warm` and `time` make this process a referee, which keeps candidates in processes of their own; `run` calls every entry here on small cases
(under a sanitizer), `profile` calls each once on a timed case between profiler marks, `compile` builds the one entry for its targets. The
result is a JSON object under a line with its signature: with `--signed` the key is the first line of the standard input, which no candidate
sees, and the request is removed once it is read, for it holds the seed. Where the process dies, its last stage and case stand in
`result.json.progress`, and what `time` had finished in the result.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from . import sandbox
from .discover import Entry
from .findings import from_exception, rejected
from .process import sign
from .referee import check, entries_of, prestart, time_entries, warm

Report = Any
"""Called with (stage, case name) before each step."""


def main(arguments: list[str]) -> int:
    """Carry out one request and write its result; the exit status says only whether a result was written."""
    request = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    result_path = Path(arguments[1])
    progress, secret = result_path.with_name(result_path.name + ".progress"), ""
    if "--signed" in arguments:
        Path(arguments[0]).unlink()
        sandbox.adopt()
        sandbox.conceal()  # it holds the references, and from its first line of input on the key
    if "--wait" in arguments:  # imports are done while another worker has the GPU
        import torch  # noqa: F401
        import triton  # noqa: F401

        if request["mode"] == "time":
            prestart(request)
    if "--signed" in arguments:
        secret = sys.stdin.readline().strip()

    if os.environ.get("TRITON_INTERPRET") == "1":
        from .interpreter import repair

        repair()

    def report(stage: str, case: str = "") -> None:
        report.stage = stage
        with progress.open("a", encoding="utf-8") as file:
            file.write(f"{stage}\t{case}\n")

    def keep(result: dict[str, Any]) -> None:
        partial = result_path.with_name(result_path.name + ".partial")
        body = json.dumps(result)
        partial.write_text(f"{sign(body, secret)}\n{body}", encoding="utf-8")
        partial.replace(result_path)

    report.keep = keep
    report("static")
    try:
        result = MODES[request["mode"]](request, report)
    except Exception as error:
        result = rejected(from_exception(error, report.stage))
    keep(result)
    if "--signed" in arguments:
        sandbox.kill_below(os.getpid())
    return 0


def _load(entry: Entry) -> tuple[ModuleType, Any]:
    from .load import load_candidate, load_module

    return load_module(entry.contract_path, entry.operator), load_candidate(entry.source, entry.operator)


def run_small(request: dict[str, Any], report: Report) -> dict[str, Any]:
    """Call every entry on its small cases, and nothing else: for a sanitizer, which slows everything."""
    import torch

    from .correctness import make_inputs
    from .load import small_cases

    for entry in entries_of(request):
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
    for entry in entries_of(request):
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

    (entry,) = entries_of(request)
    report("compile")
    return compile_entry(entry, load_module(entry.source, entry.operator))


MODES = {"check": check, "warm": warm, "time": time_entries, "run": run_small, "profile": run_profiled, "compile": build}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

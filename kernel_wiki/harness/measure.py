"""Times of a candidate and its baselines, interleaved in one process, beside the ceilings measured in the same process. CUDA only."""

from __future__ import annotations

import statistics
import time
from types import ModuleType
from typing import Any

import torch

from .contract import Case
from .correctness import compare, make_inputs, reference
from .device import clocks
from .findings import Rejected

FLUSH_BYTES = 256 * 1024 * 1024
"""Written before each timed call: several times the largest L2 (50 MB on Hopper, 126 MB on Blackwell)."""
HOLD_CYCLES = 600_000
"""The stream is held this long (about 0.3 ms) so that the call is queued before the GPU is free: no host time between the events."""
WARMUP_CALLS = 5
"""Compilation and autotuning happen in the first call; the clocks rise within the rest."""
HOST_CALLS = 100
"""Calls queued for the host overhead; well below the 1024 launches that a stream accepts before it blocks."""
COPY_BYTES = 1 << 30
"""Of the copy ceiling; far above the L2."""
CEILING_REPEATS = 20
MATRIX_SIZE = 8192
"""Edge of the bf16 product of the matrix ceiling: large enough to fill any GPU of today."""
CANDIDATE = "candidate"


def measure(run: Any, contract: ModuleType, cases: list[Case], request: dict[str, Any], report: Any) -> dict[str, Any]:
    """`{timings, ceilings, clocks}`; time in microseconds, medians over `request["rounds"]` rounds.

    Raises:
        Rejected: the answer was wrong after the timing.
    """
    flush = _l2_flusher()
    before = clocks()
    ceilings = measure_ceilings(contract.BOUND)
    timings = []
    for number, case in enumerate(cases):
        report("measure", case.name)
        timings.append(_measure_case(run, contract, case, request["seed"] + 1000 + number, request["rounds"], flush, ceilings))
    return {"timings": timings, "ceilings": ceilings, "clocks": {"before": before, "after": clocks()}}


def warm_baselines(contract: ModuleType, cases: list[Case], seed: int) -> None:
    """Call each baseline once on each timed case, so that what it compiles is in the compilers' caches when it is timed."""
    for case in cases:
        torch.compiler.reset()
        _warmed(dict(contract.BASELINES), make_inputs(contract, case, "cuda", seed))


def _l2_flusher() -> Any:
    """A function that empties the L2 on the current stream: it writes one buffer, then reads another, so that no dirty line is left to
    be written back at the expense of the timed call."""
    written, read = (torch.zeros(FLUSH_BYTES // 4, dtype=torch.float32, device="cuda") for _ in range(2))

    def flush() -> None:
        written.zero_()
        read.amax()

    return flush


def measure_ceilings(bound: str) -> dict[str, float]:
    """`copy_gbps`, read plus written, of torch's copy; for matrix operators also `matmul_tflops` in bf16 on random data."""
    source = torch.empty(COPY_BYTES, dtype=torch.uint8, device="cuda").random_()
    target = torch.empty_like(source)
    copy_us = _median([_elapsed_us(lambda: target.copy_(source)) for _ in range(CEILING_REPEATS)])
    ceilings = {"copy_gbps": round(2 * COPY_BYTES / copy_us / 1e3, 1)}
    if bound == "matrix":
        a, b = (torch.randn(MATRIX_SIZE, MATRIX_SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        matmul_us = _median([_elapsed_us(lambda: torch.matmul(a, b)) for _ in range(CEILING_REPEATS)])
        ceilings["matmul_tflops"] = round(2 * MATRIX_SIZE**3 / matmul_us / 1e6, 1)
    return ceilings


def _measure_case(
    run: Any, contract: ModuleType, case: Case, seed: int, rounds: int, flush: Any, ceilings: dict[str, float]
) -> dict[str, Any]:
    torch.compiler.reset()  # each case gets a baseline compiled for its own shape, not the dynamic one of the second shape seen
    inputs = make_inputs(contract, case, "cuda", seed)
    functions, broken = _warmed({CANDIDATE: run, **contract.BASELINES}, inputs)
    samples = _interleaved(functions, inputs, rounds, flush)
    _check_after(run, contract, case, inputs)
    own = _statistics(samples.pop(CANDIDATE))
    found = contract.work(case)
    gbps, tflops = found.bytes_moved / own["time_us"] / 1e3, found.flops / own["time_us"] / 1e6
    share = tflops / ceilings["matmul_tflops"] if contract.BOUND == "matrix" else gbps / ceilings["copy_gbps"]
    baselines: dict[str, dict[str, Any]] = {name: {"error": message} for name, message in broken.items()}
    for name, values in samples.items():
        theirs = _statistics(values)
        baselines[name] = {**theirs, "speedup": round(theirs["time_us"] / own["time_us"], 3)}
    return {
        "case": case.name,
        **own,
        "gbps": round(gbps, 1),
        "tflops": round(tflops, 2),
        "share_of_ceiling": round(share, 3),
        "l2_warm_us": round(_median([_elapsed_us(lambda: run(*inputs), before=lambda: run(*inputs)) for _ in range(rounds)]), 2),
        "host_us": round(_host_us(run, inputs), 2),
        "baselines": baselines,
    }


def _warmed(functions: dict[str, Any], inputs: tuple) -> tuple[dict[str, Any], dict[str, str]]:
    """The functions that run, and the message of each baseline that does not; a failing candidate raises."""
    working, broken = {}, {}
    for name, function in functions.items():
        try:
            for _ in range(WARMUP_CALLS):
                function(*inputs)
            torch.cuda.synchronize()
            working[name] = function
        except Exception as error:
            if name == CANDIDATE:
                raise
            broken[name] = f"{type(error).__name__}: {error}"[:200]
    return working, broken


def _interleaved(functions: dict[str, Any], inputs: tuple, rounds: int, flush: Any) -> dict[str, list[float]]:
    """Name to `rounds` times in microseconds; the order rotates, so that drift and position fall on all alike."""
    names = list(functions)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            function = functions[name]
            samples[name].append(_elapsed_us(lambda function=function: function(*inputs), before=flush))
    return samples


def _elapsed_us(call: Any, before: Any = None) -> float:
    """Device time of one call, from events around it on the current stream."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(HOLD_CYCLES)
    if before is not None:
        before()
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3


def _host_us(run: Any, inputs: tuple) -> float:
    """Host time of one call, without waiting for the device."""
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(HOST_CALLS):
        run(*inputs)
    elapsed = time.perf_counter() - started
    torch.cuda.synchronize()
    return elapsed / HOST_CALLS * 1e6


def _check_after(run: Any, contract: ModuleType, case: Case, inputs: tuple) -> None:
    """A time counts only if the timed call still gives the answer."""
    outputs = run(*inputs)
    outputs = tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)
    torch.cuda.synchronize()
    tolerance = contract.TOLERANCES[case.dtype]
    found = compare(outputs, reference(contract, inputs), tolerance)
    if found["error_norm"] > tolerance.norm or found["worst_ratio"] > 1:
        raise Rejected("measure", "mismatch", f"{case.name}: wrong after the timed rounds, error norm {found['error_norm']:.3g}")


def _statistics(values: list[float]) -> dict[str, float]:
    """Median and (p75 - p25) / median."""
    low, middle, high = statistics.quantiles(values, n=4)
    return {"time_us": round(middle, 2), "spread": round((high - low) / middle, 4)}


def _median(values: list[float]) -> float:
    return statistics.median(values)

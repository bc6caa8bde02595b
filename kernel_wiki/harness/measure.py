"""Times of a candidate and its baselines, interleaved call by call, beside the ceilings measured in the same run. The referee's side.

The candidate runs in its own process and the baselines in this one; the GPU serves one of them at a time. CUDA only.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from . import timing
from .bench import Bench
from .compare import compare, passes
from .contract import Case, Dim
from .correctness import admitted, deadline_s, make_inputs, output_dtypes, reference
from .device import clocks
from .findings import Rejected

WARMUP_CALLS = 5
"""Compilation and autotuning happen in the first call; the clocks rise within the rest."""
HOST_CALLS = 100
"""Calls queued for the host overhead; well below the 1024 launches that a stream accepts before it blocks."""
SLOW_BASELINE_US = 50_000
"""A baseline that takes longer is no rival, and every round would wait for it."""
WARM_ROUNDS = 11
"""Of the times with data in the L2, and of graph replays."""
SECRET_ROUNDS = 4
"""Timed calls whose outputs are checked; the candidate cannot tell which."""
BURST_US = 30_000
"""Length of the burst that the referee times by its own clock."""
BURST_CALLS = 400
CLOCK_TOLERANCE = 0.8
"""A time that the runner reports must be at least this part of what the referee's clock says of the same work, which also holds the gaps
between launches and, back to back, lower clocks. On an H200 64 timings of the zoo lay between 0.85 and 1.05."""
COPY_BYTES = 1 << 30
"""Of the copy ceiling; far above the L2."""
CEILING_REPEATS = 20
MATRIX_SIZE = 8192
"""Edge of the bf16 product of the matrix ceiling: large enough to fill any GPU of today."""
NEAR_ROUNDS = 7
NEAR_STEP = 64
"""Neighbours differ from a timed shape by multiples of this, so that alignment and tiles stay as they were."""
NEAR_LARGE = 512
"""A dimension that may be varied is at least this long."""
SPECIAL_CASED = 3.0
"""A candidate that loses this factor on a shape a few per cent smaller, where the baseline does not, is fast for the benchmark only.
On an H200 the zoo came to 1.18 at most."""
IMPOSSIBLE = {"bandwidth": 1.25, "matrix": 1.5}
"""Share of the ceiling of the same run that no kernel reaches: on an H200 those of the zoo came to 1.06 of the copy and
1.03 of the product. The product's is in bf16: narrower operands may have twice that."""
NARROW = ("fp8", "int8")
CANDIDATE = "candidate"


def measure(bench: Bench, cases: list[Case], rounds: int, others: dict[str, Callable[..., Any]], report: Any) -> dict[str, Any]:
    """`{timings, ceilings, clocks}`; time in microseconds, medians over `rounds` rounds.

    Args:
        others: further baselines by id: the parent and the present champion.

    Raises:
        Rejected: a timed call was wrong, the candidate's clock lies, or it is fast for the timed shapes only.
    """
    compile_each_shape()
    clock, before = timing.Clock(), clocks()
    ceilings = measure_ceilings(bench.contract.BOUND, clock)
    timings = []
    for number, case in enumerate(cases):
        report("measure", case.name)
        bench.candidate.stage, bench.candidate.case = "measure", case.name
        timings.append(_measure_case(bench, case, bench.seed + 1000 + 10 * number, rounds, others, clock, ceilings))
    return {"timings": timings, "ceilings": ceilings, "clocks": {"before": before, "after": clocks()}}


def warm_baselines(contract: ModuleType, cases: list[Case], seed: int) -> None:
    """Call each baseline once on each timed case, so that what it compiles is in the compilers' caches when it is timed."""
    compile_each_shape()
    for case in cases:
        _working(dict(contract.BASELINES), make_inputs(contract, case, "cuda", seed))


def compile_each_shape() -> None:
    """Each case gets a baseline compiled for its own shape, not the dynamic one of the second shape seen; all are kept."""
    torch._dynamo.config.automatic_dynamic_shapes = False
    torch._dynamo.config.recompile_limit = 256


def measure_ceilings(bound: str, clock: timing.Clock) -> dict[str, float]:
    """`copy_gbps`, read plus written, of torch's copy; for matrix operators also `matmul_tflops` in bf16 on random data."""
    source = torch.empty(COPY_BYTES, dtype=torch.uint8, device="cuda").random_()
    target = torch.empty_like(source)
    copy_us = _median_us(clock, lambda: target.copy_(source), CEILING_REPEATS)
    ceilings = {"copy_gbps": round(2 * COPY_BYTES / copy_us / 1e3, 1)}
    if bound == "matrix":
        a, b = (torch.randn(MATRIX_SIZE, MATRIX_SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        matmul_us = _median_us(clock, lambda: torch.matmul(a, b), CEILING_REPEATS)
        ceilings["matmul_tflops"] = round(2 * MATRIX_SIZE**3 / matmul_us / 1e6, 1)
    return ceilings


def _median_us(clock: timing.Clock, call: Callable[[], Any], repeats: int) -> float:
    return statistics.median(clock.elapsed_us(call)[0] for _ in range(repeats))


def _measure_case(
    bench: Bench, case: Case, seed: int, rounds: int, others: dict[str, Any], clock: timing.Clock, ceilings: dict[str, float]
) -> dict[str, Any]:
    contract, candidate = bench.contract, bench.candidate
    data = make_inputs(contract, case, bench.device, seed)
    expected = reference(contract, data)
    bench.call_s = deadline_s(contract, data)
    bound, source = bench.bind("a", data), bench.bind("s", data)
    buffers = bench.bind_outputs(expected, output_dtypes(contract, case, data, expected))
    del data, expected
    candidate.ask("warm", bench.timeout_s, slot="a", count=WARMUP_CALLS)
    baselines, broken = _working({**contract.BASELINES, **others}, bound)
    samples = _rounds(bench, case, source, bound, buffers, baselines, rounds, clock)
    own = samples.pop(CANDIDATE)
    found = contract.work(case)
    median_us = statistics.median(own)
    gbps, tflops = found.bytes_moved / median_us / 1e3, found.flops / median_us / 1e6
    share = tflops / ceilings["matmul_tflops"] if contract.BOUND == "matrix" else gbps / ceilings["copy_gbps"]
    _refuse_impossible(contract.BOUND, case, share)
    result = {
        "case": case.name,
        **timing.summary(own),
        "gbps": round(gbps, 1),
        "tflops": round(tflops, 2),
        "share_of_ceiling": round(share, 3),
        **_other_times(bench, case, median_us, bound, source, buffers),
        "baselines": {name: {"error": message} for name, message in broken.items()},
    }
    for name, values in samples.items():
        result["baselines"][name] = {**timing.summary(values), **timing.compared(own, values)}
    bench.release()
    del bound, source, buffers
    result["near"] = _near(bench, case, seed + 5, median_us, {name: result["baselines"][name]["time_us"] for name in samples}, clock)
    _check_tampered(bench)
    return result


def _refuse_impossible(bound: str, case: Case, share: float) -> None:
    limit = IMPOSSIBLE[bound] * (2 if bound == "matrix" and case.dtype in NARROW else 1)
    if share > limit:
        hint = f"the time it reports is {share:.2f} times the speed of the {bound} ceiling measured beside it: no kernel is that fast"
        raise Rejected("measure", "cheat", hint, expected=f"<= {limit:g}", actual=f"{share:.2f}", case=case.name)


def _working(functions: dict[str, Any], inputs: tuple) -> tuple[dict[str, Any], dict[str, str]]:
    """The functions that run here, warm, and the message of each that does not."""
    working, broken = {}, {}
    for name, function in functions.items():
        try:
            function(*inputs)  # compiles
            torch.cuda.synchronize()
            call_us = timing.wall_us(lambda function=function: function(*inputs), 1, wait=True)
            if call_us > SLOW_BASELINE_US:
                broken[name] = f"takes {call_us / 1e3:.0f} ms a call: left out of the rounds"
                continue
            for _ in range(WARMUP_CALLS):
                function(*inputs)
            torch.cuda.synchronize()
            working[name] = function
        except Exception as error:
            broken[name] = f"{type(error).__name__}: {error}"[:200]
    return working, broken


def _rounds(
    bench: Bench,
    case: Case,
    source: tuple,
    bound: tuple,
    buffers: tuple,
    baselines: dict[str, Any],
    rounds: int,
    clock: timing.Clock,
) -> dict[str, list[float]]:
    """Name to `rounds` times in microseconds; the order rotates, so that drift and position fall on all alike.

    Every round has data that nobody has seen, so that no answer can be remembered. The referee writes it to `source`; the runner copies it
    to `bound`, at the same addresses as ever, on the stream that the candidate is timed on. Some timed calls are checked; the runner hands
    over the outputs of all, and does not know which.
    """
    names = [CANDIDATE, *baselines]
    samples: dict[str, list[float]] = {name: [] for name in names}
    secret, draw, contract = _secret_rounds(rounds), random.SystemRandom(), bench.contract
    for turn in range(rounds):
        fresh = make_inputs(contract, case, bench.device, draw.getrandbits(31))
        expected = reference(contract, _refresh(source, fresh)) if turn in secret else ()
        del fresh
        bench.settle()
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            if name == CANDIDATE:
                samples[name].append(_ask_us(bench, "time", slot="a", cold=True, keep=True, late="s"))
                if turn in secret:
                    _check_timed(bench, case, buffers, expected)
            else:
                function = baselines[name]
                samples[name].append(clock.elapsed_us(lambda function=function: function(*bound), clock.flush)[0])
                torch.cuda.synchronize()
    return samples


def _secret_rounds(rounds: int) -> set[int]:
    """SECRET_ROUNDS of them."""
    return set(random.SystemRandom().sample(range(rounds), min(SECRET_ROUNDS, rounds)))


def _ask_us(bench: Bench, do: str, **arguments: Any) -> float:
    """A time that the runner reports.

    Raises:
        Rejected: it is no time.
    """
    value = bench.candidate.ask(do, bench.call_s, **arguments).get("us")
    if not isinstance(value, int | float) or not 0 < value < math.inf:
        hint = f"the process reports a time of {str(value)[:40]} us"
        raise Rejected("measure", "cheat", hint, expected="a positive number", case=bench.candidate.case)
    return float(value)


def _refresh(bound: tuple, fresh: tuple) -> tuple:
    """Write `fresh` tensors over the bound ones; the inputs that the candidate has now: fresh tensors, and the numbers bound at first."""
    for old, new in zip(bound, fresh):
        if isinstance(old, torch.Tensor):
            old.copy_(new)
    torch.cuda.synchronize()
    return tuple(new if isinstance(old, torch.Tensor) else old for old, new in zip(bound, fresh))


def _check_timed(bench: Bench, case: Case, buffers: tuple, expected: tuple) -> None:
    """A time counts only if that very call gave the answer for the data of its round."""
    tolerance = bench.contract.TOLERANCES[case.dtype]
    found = compare(buffers, expected, tolerance)
    if not passes(found, tolerance):
        hint = (
            f"wrong in a timed call on data that had just changed, error norm {found['error_norm']:.3g}: right when checked, not when timed"
        )
        raise Rejected("measure", "cheat", hint, case=case.name)


def _other_times(bench: Bench, case: Case, cold_us: float, bound: tuple, source: tuple, buffers: tuple) -> dict[str, Any]:
    """`{l2_warm_us, host_us, outside_us}`, and `graph_us` or why there is none; the runner's clock against the referee's.

    All of it works on the same data, which nobody has seen, and the burst's last output is checked: a graph or a call that does nothing
    there is found.

    Raises:
        Rejected: the runner reports other times than pass outside, calls that are faster from memory than from the L2, or the burst
            left a wrong output.
    """
    candidate, limit = bench.candidate, bench.call_s
    expected = _unseen(bench, case, bound, source)
    warm = [_ask_us(bench, "time", slot="a", cold=False, keep=False) for _ in range(WARM_ROUNDS)]
    started = time.perf_counter()
    host_us = _ask_us(bench, "host", slot="a", count=HOST_CALLS)
    if host_us > (time.perf_counter() - started) / HOST_CALLS * 1e6:
        hint = f"the process reports {host_us:.1f} us of host time a call, more than passed in all"
        raise Rejected("measure", "cheat", hint, case=candidate.case)
    captured = candidate.ask("capture", limit, slot="a")
    found: dict[str, Any] = {"l2_warm_us": round(statistics.median(warm), 2), "host_us": round(host_us, 2)}
    if "error" in captured:
        found["graph"] = str(captured["error"])[:120]
    else:
        replays = [_ask_us(bench, "replay", cold=True) for _ in range(WARM_ROUNDS)]
        found["graph_us"] = round(statistics.median(replays), 2)
    count = max(5, min(BURST_CALLS, math.ceil(BURST_US / max(1.0, *warm))))
    started = time.perf_counter()
    candidate.ask("burst", limit + 1, slot="a", count=count)
    found["outside_us"] = round((time.perf_counter() - started) / count * 1e6, 2)
    candidate.ask("last", limit, slot="a")
    _check_timed(bench, case, buffers, expected)
    if cold_us < CLOCK_TOLERANCE * found["l2_warm_us"]:  # the zoo on an H200: at least 0.90
        hint = f"the process reports {cold_us:.1f} us with an empty L2 and {found['l2_warm_us']} us with a full one"
        raise Rejected("measure", "cheat", hint, expected=f">= {CLOCK_TOLERANCE:g} of the warm time", case=candidate.case)
    launches_hidden = "error" not in captured or host_us < found["l2_warm_us"]
    if launches_hidden and found["l2_warm_us"] < CLOCK_TOLERANCE * found["outside_us"] and found["outside_us"] > 50:
        hint = f"the process reports {found['l2_warm_us']} us a call, and {found['outside_us']} us pass by a clock outside it"
        raise Rejected("measure", "cheat", hint, expected=f">= {CLOCK_TOLERANCE:g} of the time outside", case=candidate.case)
    return found


def _unseen(bench: Bench, case: Case, bound: tuple, source: tuple) -> tuple:
    """What the contract wants for fresh data, which is now in the candidate's inputs at the same addresses."""
    fresh = make_inputs(bench.contract, case, bench.device, random.SystemRandom().getrandbits(31))
    _refresh(source, fresh)
    expected = reference(bench.contract, _refresh(bound, fresh))
    bench.settle()
    return expected


def _near(bench: Bench, case: Case, seed: int, own_us: float, baselines: dict[str, float], clock: timing.Clock) -> dict[str, Any] | None:
    """`{case, slowdown, baseline_slowdown}` on a neighbour of a timed shape; None where the contract has none.

    Raises:
        Rejected: the answer is wrong there, or the candidate is fast for the timed shape only.
    """
    contract, candidate = bench.contract, bench.candidate
    near = neighbour(contract, case, random.SystemRandom())
    eager = next((name for name in contract.BASELINES if "compile" not in name and name in baselines), None)
    if near is None or eager is None:
        return None
    candidate.case = near.name
    inputs = make_inputs(contract, near, bench.device, seed)
    expected = reference(contract, inputs)
    bound = bench.bind("n", inputs)
    buffers = bench.bind_outputs(expected, output_dtypes(contract, near, inputs, expected))
    candidate.ask("warm", bench.timeout_s, slot="n", count=2)
    own = statistics.median(_ask_us(bench, "time", slot="n", cold=True, keep=True) for _ in range(NEAR_ROUNDS))
    found = compare(buffers, expected, contract.TOLERANCES[near.dtype])
    if not passes(found, contract.TOLERANCES[near.dtype]):
        hint = (
            f"wrong on a neighbour of the timed shape {case.name}, error norm {found['error_norm']:.3g}: right for the listed shapes only"
        )
        raise Rejected("measure", "cheat", hint, case=near.name)
    theirs = statistics.median(clock.elapsed_us(lambda: contract.BASELINES[eager](*bound), clock.flush)[0] for _ in range(NEAR_ROUNDS))
    bench.release()
    slower, baseline = own / own_us, theirs / baselines[eager]
    if slower > SPECIAL_CASED * max(1.0, baseline):
        change = f"{slower:.1f} times slower on a shape a few per cent smaller than {case.name}"
        hint = f"{change}, where {eager} changes by {baseline:.2f}: special-cased"
        raise Rejected("measure", "cheat", hint, case=near.name)
    return {"case": near.name, "slowdown": round(slower, 3), "baseline_slowdown": round(baseline, 3)}


def neighbour(contract: ModuleType, case: Case, draw: random.Random) -> Case | None:
    """A shape two to six per cent smaller in one large dimension, aligned as the timed one; None if the contract varies none."""
    dims: dict[str, Dim] = getattr(contract, "DIMS", {})
    names = [name for name, size in case.shape.items() if name in dims and size >= NEAR_LARGE]
    for name in draw.sample(names, len(names)):
        step = math.lcm(NEAR_STEP, dims[name].multiple)
        smaller = case.shape[name] - step * max(1, round(case.shape[name] * draw.uniform(0.02, 0.06) / step))
        shape = {**case.shape, name: smaller}
        if smaller > 0 and admitted(contract, shape):
            return Case(shape, case.dtype, case.distribution)
    return None


def _check_tampered(bench: Bench) -> None:
    """The candidate replaced functions, or left threads, while it was timed."""
    found = bench.candidate.ask("tampered", bench.call_s)
    if found["replaced"]:
        raise Rejected("measure", "cheat", f"the candidate replaced {', '.join(found['replaced'][:3])}", case=bench.candidate.case)

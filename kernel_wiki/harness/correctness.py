"""Cases of a candidate against their float64 references, on fresh data, in poisoned memory, more than once. The referee's side."""

from __future__ import annotations

import math
import random
import time
from types import ModuleType
from typing import Any

import torch

from .bench import CALL_FLOOR_S, CALL_MULTIPLE, Bench
from .compare import bits, compare, passes
from .contract import FRESH_DISTRIBUTIONS, Case, Dim, torch_dtype
from .findings import Rejected

FRESH_CASES = 4
"""Drawn from the contract's DIMS with a seed that no candidate knows."""
FRESH_TRIES = 4000
"""Draws for them; a contract may admit few of all shapes within its DIMS."""
FRESH_BYTES = 64 << 20
"""Largest drawn case."""
REPEATS = 8
"""Calls on the same data whose bits must agree where an implementation is declared deterministic."""
HUGE_FREE_BYTES = 6
"""Bytes of free device memory that a huge case wants for each byte it moves: inputs twice, outputs, and a float64 reference in bands."""


def check(bench: Bench, cases: list[Case], report: Any) -> list[dict[str, Any]]:
    """`{name, seed, error_norm, tolerance, worst_ratio}` of every case, drawn ones and views among them.

    Raises:
        Rejected: the first fault; nothing after it was looked at.
    """
    found = []
    for number, case in enumerate(cases):
        _begin(bench, case, report)
        found.append(check_case(bench, case, bench.seed + 2 * number))
    drawn = [] if bench.only_given else fresh_cases(bench.contract, bench.seed, bench.device)
    for number, case in enumerate(drawn):
        _begin(bench, case, report)
        found.append({**check_case(bench, case, bench.seed + 500 + 2 * number), "drawn": True})
    for view, positions in getattr(bench.contract, "VIEWS", {}).items():
        for number, case in enumerate(_for_views(bench.contract, cases)):
            _begin(bench, case, report, f" as {view} view")
            found.append({**check_view(bench, case, bench.seed + 700 + number, view, positions), "view": view})
    return found


def _begin(bench: Bench, case: Case, report: Any, tail: str = "") -> None:
    report("run", case.name + tail)
    bench.candidate.stage, bench.candidate.case = "run", case.name + tail


def check_case(bench: Bench, case: Case, seed: int) -> dict[str, Any]:
    """`{name, seed, error_norm, tolerance, worst_ratio}` of the first call; later calls must agree within the same tolerance.

    Raises:
        Rejected: wrong type, shape, dtype, device or values, inputs changed, work left on another stream.
    """
    contract = bench.contract
    if case.huge and not _fits(contract, case, bench.device):
        return {"name": case.name, "skipped": "not enough device memory"}
    inputs = make_inputs(contract, case, bench.device, seed)
    expected = reference(contract, inputs)
    dtypes = output_dtypes(contract, case, inputs, expected)
    bench.call_s = bench.timeout_s if bench.device == "cpu" or case.huge else deadline_s(contract, inputs)
    bound = bench.bind("a", inputs)
    buffers = bench.bind_outputs(expected, dtypes)
    result = call_and_compare(bench, "a", buffers, expected, case, "first call", first=True)
    _check_unchanged(bound, inputs, case)
    if not case.huge:
        # Other data at the same addresses: an answer remembered by pointer is now wrong.
        fresh = make_inputs(contract, case, bench.device, seed + 1)
        expected = reference(contract, fresh)
        # It is written on the stream after the call was made: work that does not wait for the caller's stream reads the old data.
        elsewhere = bench.bind("b", fresh)
        rebind_values(bench, "a", fresh)
        call_and_compare(bench, "a", buffers, expected, case, "second call, new data at the same addresses", late="b")
        # The same data elsewhere, and the first data again where it was: an answer tied to an address is now wrong.
        rewrite(bench, "a", bound, inputs)
        call_and_compare(bench, "b", buffers, expected, case, "third call, same data at other addresses")
        _check_unchanged(elsewhere, fresh, case)
        if bench.deterministic:
            _check_bits(bench, buffers, case)
        del elsewhere
    del inputs, expected, bound, buffers
    bench.release()
    return {"name": case.name, "seed": seed, **result}


def check_view(bench: Bench, case: Case, seed: int, view: str, positions: tuple[int, ...]) -> dict[str, Any]:
    """One call on inputs of which some are views, as `check_case` reports it.

    Raises:
        Rejected: as `check_case`.
    """
    inputs = make_inputs(bench.contract, case, bench.device, seed)
    inputs = tuple(as_view(value, view) if index in positions else value for index, value in enumerate(inputs))
    expected = reference(bench.contract, inputs)
    dtypes = output_dtypes(bench.contract, case, inputs, expected)
    bound = bench.bind("a", inputs)
    buffers = bench.bind_outputs(expected, dtypes)
    result = call_and_compare(bench, "a", buffers, expected, case, f"on a view ({view})", first=True)
    _check_unchanged(bound, inputs, case)
    bench.release()
    return {"name": case.name, "seed": seed, **result}


def as_view(value: torch.Tensor, view: str) -> torch.Tensor:
    """The same values as a view: "offset" starts one element into its memory, "strided" has rows further apart than they are long.

    Raises:
        ValueError: there is no such view.
    """
    if view == "offset":
        memory = torch.empty(value.numel() + 1, dtype=value.dtype, device=value.device)
        return memory[1:].view(value.shape).copy_(value)
    if view == "strided":
        width = value.shape[-1]
        memory = torch.empty((*value.shape[:-1], width + 16), dtype=value.dtype, device=value.device)  # rows stay on 16 bytes
        return memory[..., :width].copy_(value)
    raise ValueError(f'unknown view "{view}"; a contract may name "offset" and "strided"')


def fresh_cases(contract: ModuleType, seed: int, device: str) -> list[Case]:
    """Cases that nobody has seen: sizes drawn from DIMS, dtypes and distributions in turn."""
    dims: dict[str, Dim] = getattr(contract, "DIMS", {})
    if not dims:
        return []
    draw, limit = random.Random(seed), FRESH_BYTES if device == "cuda" else 1 << 18
    dtypes = sorted(contract.TOLERANCES)
    found: list[Case] = []
    for number in range(FRESH_TRIES):
        shape = {name: _drawn(dim, draw) for name, dim in dims.items()}
        case = Case(shape, dtypes[number % len(dtypes)], FRESH_DISTRIBUTIONS[len(found) % len(FRESH_DISTRIBUTIONS)])
        if admitted(contract, shape) and contract.work(case).bytes_moved <= limit:
            found.append(case)
        if len(found) == FRESH_CASES:
            break
    return found


def admitted(contract: ModuleType, shape: dict[str, int]) -> bool:
    """Whether the contract takes these sizes."""
    dims: dict[str, Dim] = getattr(contract, "DIMS", {})
    within = all(size >= dims[name].low and size % dims[name].multiple == 0 for name, size in shape.items() if name in dims)
    return within and getattr(contract, "admits", lambda shape: True)(shape)


def _drawn(dim: Dim, draw: random.Random) -> int:
    """Log-uniform, so that small sizes are as likely as large ones."""
    low, high = max(1, -(-dim.low // dim.multiple)), max(1, dim.high // dim.multiple)
    return dim.multiple * min(high, max(low, round(math.exp(draw.uniform(math.log(low), math.log(high + 1))))))


def _for_views(contract: ModuleType, cases: list[Case]) -> list[Case]:
    """The smallest case of more than one row, and the median of those neither timed nor huge."""
    small = sorted((case for case in cases if not case.timed and not case.huge), key=lambda case: contract.work(case).bytes_moved)
    return list({case.name: case for case in (small[1:2] or small) + small[len(small) // 2 :][:1]}.values())


def _fits(contract: ModuleType, case: Case, device: str) -> bool:
    if device != "cuda":
        return False
    torch.cuda.empty_cache()
    return torch.cuda.mem_get_info()[0] >= HUGE_FREE_BYTES * contract.work(case).bytes_moved


def make_inputs(contract: ModuleType, case: Case, device: str, seed: int) -> tuple[Any, ...]:
    """The contract's inputs from a generator of that seed."""
    generator = torch.Generator(device=device).manual_seed(seed)
    return tuple(contract.make_inputs(case, generator, torch.device(device)))


def reference(contract: ModuleType, inputs: tuple[Any, ...]) -> tuple[torch.Tensor, ...]:
    """The contract's answer as a tuple, on the inputs' device, or on the CPU if it does not fit there."""
    try:
        answer = contract.reference(*inputs)
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
        answer = contract.reference(*(value.cpu() if isinstance(value, torch.Tensor) else value for value in inputs))
    return tuple(answer) if isinstance(answer, tuple | list) else (answer,)


def output_dtypes(contract: ModuleType, case: Case, inputs: tuple, expected: tuple) -> tuple[torch.dtype, ...]:
    """The dtype asked of each output: what the first eager baseline that runs returns, else the case's.

    A reference output that is not float64, such as an index, fixes its own dtype. A huge case asks the baseline on a small one.
    """
    if case.huge:
        same = [other for other in contract.CASES if other.dtype == case.dtype and not other.huge]
        small = min(same, key=lambda other: contract.work(other).bytes_moved, default=None)
        inputs = make_inputs(contract, small, str(expected[0].device), 0) if small else ()
    dtypes = (torch_dtype(case.dtype),) * len(expected)
    for name, baseline in contract.BASELINES.items():
        if "compile" in name or not inputs:
            continue
        try:
            answer = baseline(*inputs)
        except (RuntimeError, NotImplementedError):  # a backend that this device lacks
            continue
        dtypes = tuple(out.dtype for out in (answer if isinstance(answer, tuple | list) else (answer,)))
        break
    return tuple(dtype if ref.dtype == torch.float64 else ref.dtype for dtype, ref in zip(dtypes, expected, strict=True))


def deadline_s(contract: ModuleType, inputs: tuple[Any, ...]) -> float:
    """How long a call may take: a multiple of the first eager baseline's time."""
    baseline = next((function for name, function in contract.BASELINES.items() if "compile" not in name), None)
    if baseline is None:
        return CALL_FLOOR_S
    try:
        torch.cuda.synchronize()
        started = time.monotonic()
        baseline(*inputs)
        torch.cuda.synchronize()
    except (RuntimeError, NotImplementedError):
        return CALL_FLOOR_S
    return max(CALL_FLOOR_S, CALL_MULTIPLE * (time.monotonic() - started))


def rewrite(bench: Bench, slot: str, bound: tuple, fresh: tuple) -> None:
    """Put other data where the runner's inputs already are; it sees no new address and no version counter move."""
    for old, new in zip(bound, fresh):
        if isinstance(old, torch.Tensor):
            old.copy_(new)
    bench.settle()
    rebind_values(bench, slot, fresh)


def rebind_values(bench: Bench, slot: str, fresh: tuple) -> None:
    """The inputs that are no tensors anew; the tensors stay the shared ones."""
    values = {index: new for index, new in enumerate(fresh) if not isinstance(new, torch.Tensor)}
    if values:
        bench.candidate.ask("rebind", bench.timeout_s, slot=slot, values=values)


def call_and_compare(
    bench: Bench, slot: str, buffers: tuple, expected: tuple, case: Case, what: str, first: bool = False, late: str | None = None
) -> dict[str, Any]:
    """Call once and compare; `{error_norm, tolerance, worst_ratio}`.

    Raises:
        Rejected: the answer is wrong, or right only after everything on the device has finished.
    """
    limit = bench.timeout_s if first else bench.call_s
    _clear(bench, buffers)
    bench.candidate.ask("call", limit, slot=slot, late=late)
    tolerance = bench.contract.TOLERANCES[case.dtype]
    measured = compare(buffers, expected, tolerance)
    if passes(measured, tolerance):
        return {key: measured[key] for key in ("error_norm", "tolerance", "worst_ratio")}
    details = _first_bad(buffers, expected, measured)
    if bench.device == "cuda":
        _clear(bench, buffers)
        bench.candidate.ask("late", limit)
        if passes(compare(buffers, expected, tolerance), tolerance):
            hint = f"{what}: right only after a full synchronisation: work was left on another stream or thread"
            raise Rejected("correctness", "race", hint, case=case.name, **details)
    hint = (
        f"{what}: error norm {measured['error_norm']:.3g} (limit {tolerance.norm:g}), worst element at "
        f"{measured['worst_ratio']:.3g} times its limit"
    )
    raise Rejected("correctness", "mismatch", hint, case=case.name, **details)


def _clear(bench: Bench, buffers: tuple) -> None:
    """Fill with NaN (every bit set), so that a copy that never came shows."""
    for buffer in buffers:
        buffer.view(torch.uint8).fill_(0xFF) if buffer.dim() else buffer.reshape(1).view(torch.uint8).fill_(0xFF)
    bench.settle()


def _first_bad(buffers: tuple, expected: tuple, measured: dict[str, Any]) -> dict[str, Any]:
    """`{expected, actual, first_bad}` of the first wrong element, for a Finding."""
    index, output = measured.get("first_bad"), measured.get("output", 0)
    if index is None:
        return {}
    many = f"output {output}: " if len(buffers) > 1 else ""
    wanted, got = expected[output][tuple(index)].item(), buffers[output][tuple(index)].item()
    return {"expected": f"{many}{wanted:.9g}", "actual": f"{many}{got:.9g}", "first_bad": tuple(index)}


def _check_unchanged(bound: tuple, pristine: tuple, case: Case) -> None:
    for index, (now, before) in enumerate(zip(bound, pristine)):
        if isinstance(now, torch.Tensor) and not torch.equal(bits(now), bits(before)):
            raise Rejected("correctness", "cheat", f"the candidate changed its input {index}", case=case.name)


def _check_bits(bench: Bench, buffers: tuple, case: Case) -> None:
    """The same data must give the same bits in every call."""
    first = tuple(bits(buffer).clone() for buffer in buffers)
    for _ in range(REPEATS):
        bench.candidate.ask("call", bench.call_s, slot="b")
        for index, (was, buffer) in enumerate(zip(first, buffers)):
            if not torch.equal(was, bits(buffer)):
                hint = f"declared deterministic, but output {index} differs between two calls on the same data"
                raise Rejected("correctness", "mismatch", hint, case=case.name)

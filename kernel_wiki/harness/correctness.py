"""One case of a candidate against its float64 reference, on fresh data, in poisoned memory, more than once."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import torch

from .contract import Case, Tolerance, torch_dtype
from .findings import Rejected

POISON_COPIES = 2
"""NaN buffers freed for each output, so that one is left for the output when the candidate also takes scratch memory."""

SLICE_ELEMENTS = 1 << 26
"""Elements compared at a time: half a gigabyte for each float64 temporary."""


def check_case(run: Any, contract: ModuleType, case: Case, device: str, seed: int) -> dict[str, Any]:
    """`{name, error_norm, tolerance, worst_ratio}` of the first call; later calls must agree within the same tolerance.

    Raises:
        Rejected: wrong type, shape, dtype, device or values, inputs changed, work left on another stream.
    """
    inputs = make_inputs(contract, case, device, seed)
    expected = reference(contract, inputs)
    pristine = _cloned(inputs)
    dtypes = output_dtypes(contract, case, inputs, expected)
    result = _call_and_compare(run, inputs, expected, dtypes, contract, case, "first call")
    _check_unchanged(inputs, pristine, case)

    # Other data at the same addresses: an answer remembered by pointer is now wrong.
    fresh = make_inputs(contract, case, device, seed + 1)
    for old, new in zip(inputs, fresh):
        if isinstance(old, torch.Tensor):
            old.copy_(new)
    expected = reference(contract, fresh)
    _call_and_compare(
        run, tuple(_refreshed(inputs, fresh)), expected, dtypes, contract, case, "second call, new data at the same addresses"
    )
    # The same data elsewhere: an answer tied to an address, or an alignment taken for granted, is now wrong.
    _call_and_compare(run, fresh, expected, dtypes, contract, case, "third call, same data at other addresses")
    return {"name": case.name, "seed": seed, **result}


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

    A reference output that is not float64, such as an index, fixes its own dtype.
    """
    dtypes = (torch_dtype(case.dtype),) * len(expected)
    for name, baseline in contract.BASELINES.items():
        if "compile" in name:
            continue
        try:
            answer = baseline(*inputs)
        except (RuntimeError, NotImplementedError):  # a backend that this device lacks
            continue
        dtypes = tuple(out.dtype for out in (answer if isinstance(answer, tuple | list) else (answer,)))
        break
    return tuple(dtype if ref.dtype == torch.float64 else ref.dtype for dtype, ref in zip(dtypes, expected, strict=True))


def compare(outputs: tuple[torch.Tensor, ...], expected: tuple[torch.Tensor, ...], tolerance: Tolerance) -> dict[str, Any]:
    """`{error_norm, tolerance, worst_ratio}` over all outputs, and `first_bad` where an element fails; ratios above 1 fail."""
    measured = [_compare_one(out, ref.to(out.device), tolerance) for out, ref in zip(outputs, expected)]
    worst = max(measured, key=lambda item: (item["worst_ratio"], item["error_norm"]))
    return {
        "error_norm": max(item["error_norm"] for item in measured),
        "tolerance": tolerance.norm,
        "worst_ratio": worst["worst_ratio"],
        **({"first_bad": worst["first_bad"]} if "first_bad" in worst else {}),
    }


def _compare_one(out: torch.Tensor, ref: torch.Tensor, tolerance: Tolerance) -> dict[str, Any]:
    """In slices, since each float64 temporary of a whole timed case would be gigabytes."""
    flat_out, flat_ref = out.flatten(), ref.flatten()
    error, norm, worst, first_bad = 0.0, 0.0, 0.0, None
    for start in range(0, flat_ref.numel(), SLICE_ELEMENTS):
        stop = start + SLICE_ELEMENTS
        gap, limit, size = _gaps(flat_out[start:stop], flat_ref[start:stop], tolerance)
        ratio = torch.where(gap == 0, 0.0, gap / limit)
        error += float(gap.square().sum())
        norm += float(size.square().sum())
        worst = max(worst, float(ratio.max()))
        if first_bad is None and bool((ratio > 1).any()):
            first_bad = start + int((ratio > 1).nonzero()[0])
    found: dict[str, Any] = {"error_norm": math.sqrt(error / norm) if norm > 0 else math.sqrt(error), "worst_ratio": worst}
    if first_bad is not None:
        found["first_bad"] = [int(index) for index in torch.unravel_index(torch.tensor(first_bad), ref.shape)]
    return found


def _gaps(out: torch.Tensor, ref: torch.Tensor, tolerance: Tolerance) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """By element, in float64: the distance, its limit, and the reference's size; the distance is inf where one is not finite."""
    if not ref.dtype.is_floating_point:  # an index or a count is right or wrong
        gap = (out.to(torch.int64) - ref.to(torch.int64)).abs().double()
        return gap, torch.zeros_like(gap), ref.double()
    # What the output's dtype cannot hold is not asked for; where the reference is not finite the output must be the same.
    finite = torch.isfinite(ref.to(out.dtype).float())
    out, ref = out.double(), ref.double()
    same = (out == ref) | (torch.isnan(out) & torch.isnan(ref)) | (torch.isinf(out) & ~torch.isnan(ref))
    gap = torch.where(finite, (out - ref).abs(), torch.where(same, 0.0, math.inf).double())
    ref = torch.where(finite, ref, 0.0)
    return torch.nan_to_num(gap, nan=math.inf, posinf=math.inf), tolerance.atol + tolerance.rtol * ref.abs(), ref


def _call_and_compare(
    run: Any, inputs: tuple, expected: tuple, dtypes: tuple, contract: ModuleType, case: Case, what: str
) -> dict[str, Any]:
    cuda = any(isinstance(value, torch.Tensor) and value.is_cuda for value in inputs)
    _poison(expected, dtypes, "cuda" if cuda else "cpu")
    outputs = run(*inputs)
    outputs = tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)
    _check_form(outputs, expected, dtypes, inputs, case)
    if cuda:
        torch.cuda.current_stream().synchronize()
    taken = tuple(out.clone() for out in outputs)  # what a caller on this stream would see
    if cuda:
        torch.cuda.synchronize()
    tolerance = contract.TOLERANCES[case.dtype]
    measured = compare(taken, expected, tolerance)
    if _passes(measured, tolerance):
        return measured
    late = cuda and _passes(compare(outputs, expected, tolerance), tolerance)
    category, tail = ("race", "; right after a full synchronisation: work was left on another stream") if late else ("mismatch", "")
    raise Rejected(
        "correctness",
        category,
        f"{case.name}, {what}: error norm {measured['error_norm']:.3g} (limit {tolerance.norm:g}), worst element at "
        f"{measured['worst_ratio']:.3g} times its limit, first at {measured.get('first_bad')}{tail}",
    )


def _passes(measured: dict[str, Any], tolerance: Tolerance) -> bool:
    return measured["error_norm"] <= tolerance.norm and measured["worst_ratio"] <= 1


def _check_form(outputs: tuple, expected: tuple, dtypes: tuple, inputs: tuple, case: Case) -> None:
    if len(outputs) != len(expected):
        raise Rejected("correctness", "type", f"{case.name}: {len(outputs)} outputs; the contract asks for {len(expected)}")
    device = next(value.device for value in inputs if isinstance(value, torch.Tensor))
    taken = {value.untyped_storage().data_ptr() for value in inputs if isinstance(value, torch.Tensor)}
    for index, (out, ref, dtype) in enumerate(zip(outputs, expected, dtypes)):
        if type(out) is not torch.Tensor:
            raise Rejected("correctness", "cheat", f"{case.name}: output {index} is a {type(out).__name__}, not exactly torch.Tensor")
        form, asked = (tuple(out.shape), out.dtype, out.device), (tuple(ref.shape), dtype, device)
        if form != asked:
            raise Rejected("correctness", "type", f"{case.name}: output {index} is {form}; the contract asks for {asked}")
        address = out.untyped_storage().data_ptr()
        if out.numel() and address in taken:
            raise Rejected("correctness", "cheat", f"{case.name}: output {index} shares its memory with an input or another output")
        taken.add(address)


def _check_unchanged(inputs: tuple, pristine: tuple, case: Case) -> None:
    for index, (now, before) in enumerate(zip(inputs, pristine)):
        if isinstance(now, torch.Tensor) and not torch.equal(_bits(now), _bits(before)):
            raise Rejected("correctness", "cheat", f"{case.name}: the candidate changed its input {index}")


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """Bytes, so that NaN equals itself; for dtypes without `==` too."""
    return tensor.contiguous().view(torch.uint8) if tensor.dim() else tensor.reshape(1).view(torch.uint8)


def _cloned(inputs: tuple) -> tuple:
    return tuple(value.clone() if isinstance(value, torch.Tensor) else value for value in inputs)


def _refreshed(inputs: tuple, fresh: tuple) -> list[Any]:
    """The old tensors, now holding the fresh data, with the fresh scalars."""
    return [old if isinstance(old, torch.Tensor) else new for old, new in zip(inputs, fresh)]


def _poison(expected: tuple, dtypes: tuple, device: str) -> None:
    """Leave NaN in the allocator's free blocks of each output's size, so that an element never written shows."""
    blocks = [
        torch.empty(max(1, ref.numel()) * size, dtype=torch.uint8, device=device).fill_(0xFF)  # all bits set is NaN in every float format
        for ref, dtype in zip(expected, dtypes)
        for size in (dtype.itemsize, torch.float32.itemsize)
        for _ in range(POISON_COPIES)
    ]
    del blocks

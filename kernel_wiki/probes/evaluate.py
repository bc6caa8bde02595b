"""A register probe's inputs, what its model expects, how far an approximation is off, and the hash that all this has."""

from __future__ import annotations

import hashlib

import numpy as np

from . import operands
from .operands import TYPES
from .probe import WARP, AnyProbe, Kernel, Probe
from .source import function_source

HASH_DIGITS = 16


def case_inputs(probe: Probe) -> np.ndarray:
    """`(cases, operands) uint64` of a register probe."""
    types = probe.ins.split()
    if probe.approximate:
        return _approximate_inputs(probe)
    rows = probe.cases() if probe.cases else operands.default_cases(probe.name, types)
    if probe.keep:
        rows = rows[[bool(probe.keep(*map(int, row))) for row in rows]]
    if probe.scope == "warp":
        rows = rows[: len(rows) // WARP * WARP]
    return np.ascontiguousarray(rows.astype(np.uint64))


def case_outputs(probe: Probe, rows: np.ndarray) -> np.ndarray:
    """`(cases, outputs) uint64` by the model; for an approximate probe `(cases, 1) float64`, the exact value."""
    if probe.approximate:
        return probe.approximate.truth(_as_float(probe.ins.split()[0], rows[:, 0]))[:, None]
    widths = [TYPES[name].width for name in probe.outs.split()]
    tuples = [tuple(map(int, row)) for row in rows]
    if probe.scope == "warp":
        results = [value for first in range(0, len(tuples), WARP) for value in probe.model(tuples[first : first + WARP])]
    else:
        results = [probe.model(*row) for row in tuples]
    masked = [[v & ((1 << w) - 1) for v, w in zip(r if isinstance(r, tuple) else (r,), widths, strict=True)] for r in results]
    return np.array(masked, dtype=np.uint64)


def _approximate_inputs(probe: Probe) -> np.ndarray:
    spec = probe.approximate
    draw = operands.seeded(probe.name).uniform(0, 1, spec.count)
    values = spec.low * (spec.high / spec.low) ** draw if spec.log_spaced else spec.low + (spec.high - spec.low) * draw
    return _from_float(probe.ins.split()[0], values)[:, None]


def _from_float(name: str, values: np.ndarray) -> np.ndarray:
    if name == "f64":
        return values.astype(np.float32).astype(np.float64).view(np.uint64)  # numpy's power differs in its last bit from machine to machine
    if name == "f16":
        return values.astype(np.float16).view(np.uint16).astype(np.uint64)
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return bits >> np.uint64(16) if name == "bf16" else bits


def _as_float(name: str, bits: np.ndarray) -> np.ndarray:
    if name == "f64":
        return np.ascontiguousarray(bits).view(np.float64)
    if name == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)
    shift = np.uint64(16 if name == "bf16" else 0)
    return (bits << shift).astype(np.uint32).view(np.float32).astype(np.float64)


def error_of(probe: Probe, got: np.ndarray, truth: np.ndarray, unit: str) -> float:
    """The largest error of an approximate probe, in `ulp` of the exact result, `relative` or `absolute`."""
    name, exact = probe.outs.split()[0], truth[:, 0]
    difference = np.abs(_as_float(name, got[:, 0]) - exact)
    if unit == "relative":
        difference = difference / np.abs(exact)
    if unit == "ulp":
        form = TYPES[name].form
        with np.errstate(divide="ignore"):
            exponent = np.maximum(np.floor(np.log2(np.abs(exact))), 1 - form.bias)
        difference = difference / 2.0 ** (exponent - form.mantissa_bits)
    return float(np.max(np.where(np.isfinite(difference), difference, np.inf)))


def probe_hash(each: AnyProbe) -> str:
    """Of the kernel, its inputs and what is expected of it: a change of any makes a record stale."""
    digest = hashlib.sha256(function_source(each).encode())
    if isinstance(each, Probe):
        rows = case_inputs(each)
        digest.update(rows.tobytes())
        # The host's own exp and log differ in the last bit between versions; the bound stands for them.
        digest.update(
            repr((each.approximate.limit, each.approximate.unit)).encode() if each.approximate else case_outputs(each, rows).tobytes()
        )
    elif isinstance(each, Kernel):
        arrays = [np.ascontiguousarray(array) for array in each.inputs()]
        for array in (*arrays, np.ascontiguousarray(each.model(*arrays))):
            digest.update(array.tobytes())
        digest.update(repr((each.grid, each.block, each.cluster, each.smem_bytes, each.tensor_maps)).encode())
    else:
        digest.update(repr((each.instances, each.unit, each.seeds, each.block, each.grid, each.cluster, each.smem_bytes)).encode())
    return digest.hexdigest()[:HASH_DIGITS]

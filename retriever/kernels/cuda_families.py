"""Families that the shape of a CUDA kernel suggests, where its names may say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from retriever.kernels.accesses import Access, Trace
from retriever.kernels.cuda_syntax import CudaSource, Function, node_text
from retriever.kernels.facts import Fact
from retriever.kernels.product_shapes import product_family

_ACROSS_LANES = r"__shfl_\w+|__reduce_\w+_sync|\bcg::reduce\b|\bWarpReduce\b|\bBlockReduce\b|__syncthreads"


def family_hints(source: CudaSource, kernel: Function, trace: Trace) -> Iterator[Fact]:
    """Families that the walk suggests: an index swap, a multiply-add over two arrays, a reduction, a map, a copy."""
    summed, family = product_family(source, kernel)
    loads = [a for a in trace.accesses if a.kind == "load" and a.pointer.space == "global"]
    stores = [a for a in trace.accesses if a.kind == "store" and a.pointer.space == "global" and a.offsets]
    atomics = [a for a in trace.accesses if a.kind == "atomic" and a.pointer.space in ("global", "shared")]
    if any(a.pointer.offset is None for a in atomics):
        yield Fact("sort", atomics[0].line, "counts into bins at addresses that are data: a histogram")
    elif _swaps_indices(trace, loads, stores):
        yield Fact("transpose", stores[0].line, "rows are read and columns are written")
    elif family:
        yield family
        if family.id == "gemv" and re.search(_ACROSS_LANES, node_text(kernel.body)):
            yield Fact("reduction", kernel.line, "rows are reduced across lanes")
    elif not summed and _products(trace):
        yield Fact("gemm", kernel.line, "sums products of two arrays in a loop")
    elif stores and not any(isinstance(a.pointer.offset, tuple) for a in stores) and any(loop for a in loads for loop in a.loops):
        yield Fact("reduction", kernel.line, "many elements in, one out a block")
    elif atomics and loads and not stores:
        yield Fact("reduction", atomics[0].line, "every block adds to one result")
    elif loads and stores and all(a.loops for a in loads) and not any(a.loops for a in stores) and not trace.barriers and not trace.chases:
        yield Fact("reduction", kernel.line, "each thread takes in many elements and stores one")
    elif (
        {a.pointer.offset for a in loads if a.offsets} & {a.pointer.offset for a in stores}
        and not trace.barriers
        and not _computes_in_loop(trace)
    ):
        family = "copy" if _only_moves(kernel, loads, stores) else "elementwise"
        yield Fact(family, kernel.line, "each output element comes from the input at the same place")


def _computes_in_loop(trace: Trace) -> bool:
    """A loop that touches no global memory: more than a map does."""
    return any(not loop.fixed and not any(loop in a.loops for a in trace.accesses if a.pointer.space == "global") for loop in trace.loops)


_ASSIGNMENT = re.compile(r"(\w+)\s*(?:\[[^;=]*?\])?\s*([-+*/^|&]?=)(?!=)\s*([^;{}]+?)\s*;")
_MOVE = re.compile(
    r"\*?\s*\w+\s*(?:\[[^\[\]]*\])?|__ld\w+\(.*\)|LOAD\(.*\)|\*?\s*\(.*\)|\w*\s*reinterpret_cast<[^>]*>\(\w+\)\[[^\[\]]*\]", re.S
)


def _only_moves(kernel: Function, loads: list[Access], stores: list[Access]) -> bool:
    """True when what is stored was loaded and not changed on the way."""
    if len({a.pointer.base for a in loads}) != 1:
        return False
    lines = (kernel.body.text or b"").decode("utf-8", "replace").splitlines()
    first = kernel.body.start_point[0] + 1
    assigned: dict[str, list[tuple[str, str]]] = {}
    for name, operator, value in _ASSIGNMENT.findall("\n".join(lines)):
        assigned.setdefault(name, []).append((operator, value))
    for store in stores:
        match = _ASSIGNMENT.search("\n".join(lines[store.line - first : store.line - first + 3]))
        value = match[3] if match else ""
        names = [
            (operator, text)
            for operator, text in assigned.get(re.match(r"\w*", value)[0], [])
            if "[" in text or "(" in text or "=" not in text
        ]
        if not _MOVE.fullmatch(value) or any(operator != "=" or not _MOVE.fullmatch(text) for operator, text in names):
            return False
    return True


def _swaps_indices(trace: Trace, loads: list[Access], stores: list[Access]) -> bool:
    """Lanes run along rows on one side and down columns on the other, in global memory or in a shared tile."""
    if len({a.pointer.base for a in loads}) != 1 or len({a.pointer.base for a in stores}) != 1:
        return False
    steps = {_lane_step(a) for a in loads}, {_lane_step(a) for a in stores}
    if None not in steps[0] | steps[1] and min(*steps[0], *steps[1]) == 1 and (min(steps[0]) >= 32) != (min(steps[1]) >= 32):
        return not any(loop.restarts and not loop.fixed for a in loads for loop in a.loops)
    tile = [a for a in trace.accesses if a.pointer.space == "shared" and "@" not in a.pointer.base]
    inside = {kind: {_lane_step(a) for a in tile if a.kind == kind} - {None, 0} for kind in ("load", "store")}
    return bool(inside["load"] and inside["store"]) and not inside["load"] & inside["store"] and not _products(trace)


def _lane_step(access: Access) -> int | None:
    """Elements between neighbouring lanes, the same for all of them."""
    offset = access.pointer.offset
    if not isinstance(offset, tuple):
        return None
    steps = {b - a for a, b in pairwise(offset)}
    return abs(steps.pop()) // access.pointer.element_bytes if len(steps) == 1 else None


def _products(trace: Trace) -> bool:
    """A line in a loop that multiplies loads of two arrays and adds to a sum."""
    by_line: dict[int, set[str]] = {}
    for access in trace.accesses:
        if access.kind == "load" and access.loops and access.pointer.space in ("global", "shared", "local"):
            by_line.setdefault(access.line, set()).add(access.pointer.base)
    for loop in trace.loops:
        for place, line in enumerate((loop.body.text or b"").decode("utf-8", "replace").splitlines(), loop.line):
            if len(by_line.get(place, ())) > 1 and re.search(r"\+=[^;=]*\][^;=]*\*[^;=]*\[|fmaf?\s*\([^;]*\][^;]*\[", line):
                return True
    return False

"""Suspicious places of a CUDA kernel, each a vocabulary bottleneck: from two walks of one warp, and from the shape of the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from retriever.kernels.accesses import Access, Loop, Trace
from retriever.kernels.cuda_syntax import CudaSource, Function, Node, line_of, node_text, walk
from retriever.kernels.facts import Fact
from retriever.kernels.lanes import LANES, SECTOR_BYTES, bank_conflict_degree, sectors, spread
from retriever.kernels.trace import constant_value

MIN_BAD_SECTORS = 8
"""A warp that touches fewer sectors than this costs little however they are spread."""
MIN_SECTOR_EXCESS = 2.0
"""Bytes fetched over bytes used from which access counts as uncoalesced."""
SMALL_GRID_BLOCKS = 32
"""Data-centre GPUs have 80 to 160 SMs, and the smallest product of the GPU table about 20."""
MANY_SHARED_BYTES = 48 * 1024
SHARED_BYTES_PER_THREAD = 512
"""228 KiB, the most an SM has, over 512 bytes a thread is 456 threads: less than a quarter of an SM's 2,048."""
REGISTERS_PER_SM = 65_536
MAX_REGISTERS = 255
SPILL_SHARE = 0.9
"""Share of the register budget that an array may take: addresses and temporaries need the rest."""
MANY_REGISTERS = 136
"""More than the 128 accumulators of the widest wgmma; with what else a thread needs, fewer than 512 threads fit an SM."""
DYNAMIC_ARRAY_WORDS = 16
"""Local arrays from this size on that are indexed by a run-time value live in local memory, and cost."""
MAX_FACTS_PER_ID = 6

_FLOAT_TYPES = re.compile(r"\b(?:float\d?|double\d?|half2?|__half2?|__?nv_bfloat16\d?|bfloat16_t|half_t)\b")
_INTEGER_TYPES = re.compile(r"\b(?:int|unsigned|long|short|size_t|u?int\d+_t|uint)\b")
_DOUBLE_LITERAL = re.compile(r"(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?")
_HALVING = re.compile(r"(?:\*=\s*2|<<=\s*1|>>=\s*1|/=\s*2|=\s*\w+\s*(?:>>\s*1|/\s*2))")


def trace_symptoms(first: Trace, second: Trace) -> Iterator[Fact]:
    """The symptoms that both walks show."""
    yield from _global_access(first, second)
    yield from _bank_conflicts(first, second)
    yield from _atomics(first)
    yield from _repeated_reads(first)
    yield from _divergence(first)
    yield from _tree_reductions(first)
    yield from _chases(first)
    yield from _spills(first, second)
    yield from _operands_from_global(first)


def text_symptoms(source: CudaSource, kernel: Function) -> Iterator[Fact]:
    """The symptoms that need no walk: double arithmetic and run-time division in the innermost loop."""
    types = _declared_types(source, kernel)
    yield from _doubles(kernel, types)
    yield from _divisions(source, kernel, types)


def launch_symptoms(source: CudaSource) -> Iterator[Fact]:
    """Grids and blocks given as small constants."""
    for launch in source.launches:
        parts = [part for part in launch.named_children if part.type != "comment"]
        if len(parts) < 2:
            continue
        blocks, threads = _count(source, parts[0]), _count(source, parts[1])
        shared = constant_value(source, parts[2]) if len(parts) > 2 else None
        if shared and threads and shared >= MANY_SHARED_BYTES and shared >= threads * SHARED_BYTES_PER_THREAD:
            yield Fact("low-occupancy-shared", line_of(launch), f"{shared:,} bytes of shared memory for {threads} threads")
        if blocks is not None and 0 < blocks <= SMALL_GRID_BLOCKS:
            yield Fact("small-grid", line_of(launch), f"<<<{node_text(parts[0])}, ...>>> launches {blocks} block{'s' * (blocks > 1)}")
        if threads is not None and 0 < threads <= LANES:
            yield Fact("low-occupancy-blocksize", line_of(launch), f"blocks of {threads} thread{'s' * (threads > 1)}")


def _pairs(first: Trace, second: Trace) -> Iterator[tuple[Access, Access]]:
    """Accesses that both walks made, in step."""
    for one, other in zip(first.accesses, second.accesses):
        if (one.line, one.text, one.kind) != (other.line, other.text, other.kind):
            return
        yield one, other


def _global_access(first: Trace, second: Trace) -> Iterator[Fact]:
    for one, other in _pairs(first, second):
        if one.pointer.space != "global" or one.kind == "atomic" or not (_scattered(one) and _scattered(other)):
            continue
        steps = _step(one), _step(other)
        if steps[0] is not None and steps[1] == 2 * steps[0]:
            continue  # it grows with a compile-time constant that the file leaves open, which may as well be 1
        distance = _stride_words(one, other, first, second)
        touched = sectors(one.offsets or [], one.pointer.element_bytes)
        yield Fact("uncoalesced-access", one.line, f"{one.text}: {distance}; a warp's {one.kind} touches {touched} sectors of 32 bytes")


def _scattered(access: Access) -> bool:
    offsets, size = access.offsets, access.pointer.element_bytes
    if not offsets:
        return False
    touched, used = sectors(offsets, size), len(set(offsets)) * size
    if access.loops and access.loops[-1].fixed and _typical_step(offsets) <= SECTOR_BYTES:
        return False  # the next turns of a short loop use the rest of the same sectors, from L1
    return touched >= MIN_BAD_SECTORS and touched * SECTOR_BYTES >= MIN_SECTOR_EXCESS * used


def _typical_step(offsets: list[int]) -> int:
    steps = sorted(abs(b - a) for a, b in pairwise(offsets))
    return steps[len(steps) // 2] if steps else 0


def _stride_words(one: Access, other: Access, first: Trace, second: Trace) -> str:
    """The distance of neighbouring lanes in words: as a number, or by the name that gives it."""
    steps = [_step(one), _step(other)]
    if steps[0] is None or steps[1] is None:
        return "neighbouring lanes are far apart"
    if steps[0] == steps[1]:
        return f"neighbouring lanes are {steps[0]} elements apart"
    for name, value in first.symbols.items():
        if value and name in second.symbols and steps[0] * second.symbols[name] == steps[1] * value and steps[0] % value == 0:
            times = steps[0] // value
            return f"neighbouring lanes are {name if times == 1 else f'{times} * {name}'} elements apart"
    return "neighbouring lanes are a run-time stride apart"


def _step(access: Access) -> int | None:
    lanes = spread(access.pointer.offset if access.pointer.offset is not None else 0)
    steps = {b - a for a, b in pairwise(lanes)}
    return abs(steps.pop()) // access.pointer.element_bytes if len(steps) == 1 else None


def _bank_conflicts(first: Trace, second: Trace) -> Iterator[Fact]:
    for one, other in _pairs(first, second):
        if one.pointer.space != "shared" or one.kind == "atomic" or not one.offsets or not other.offsets:
            continue
        degree = bank_conflict_degree(one.offsets, one.pointer.element_bytes)
        if degree >= 2 and bank_conflict_degree(other.offsets, other.pointer.element_bytes) >= 2:
            yield Fact("shared-bank-conflict", one.line, f"{one.text}: {degree} lanes of a warp meet in one bank ({degree}-way conflict)")


def _atomics(trace: Trace) -> Iterator[Fact]:
    aggregated = any(a.kind == "atomic" and a.pointer.space == "shared" for a in trace.accesses)
    for access in trace.accesses:
        if access.kind != "atomic" or access.guarded_by_data or sum(access.lanes) < 2:
            continue
        offset = access.pointer.offset
        if isinstance(offset, int):
            yield Fact("atomics-contention", access.line, f"{access.text}: all {sum(access.lanes)} lanes of a warp update one address")
        elif offset is None and access.pointer.space == "global" and not aggregated:
            yield Fact("atomics-contention", access.line, f"{access.text}: one global atomic an element, at an address that is data")


def _repeated_reads(trace: Trace) -> Iterator[Fact]:
    reads: dict[str, list[tuple[Loop, Access]]] = {}
    for access in trace.accesses:
        if access.kind != "load" or access.pointer.space != "global" or not access.loops or access.pointer.offset is None:
            continue
        row = next((loop for loop in access.loops if loop.restarts and not _is_unrolled_small(loop)), None)
        if row is not None:
            reads.setdefault(access.pointer.base, []).append((row, access))
    for base, uses in reads.items():
        lines = _passes(uses)
        if len(lines) > 1:
            places = ", ".join(map(str, lines))
            yield Fact("dram-bandwidth", lines[0], f"{base} is read by {len(lines)} loops: lines {places}")


def _passes(uses: list[tuple[Loop, Access]]) -> list[int]:
    """Lines of the loops that start at the same address: each is one pass over the same data."""
    by_start: dict[object, dict[int, int]] = {}
    for loop, access in uses:
        by_start.setdefault(access.pointer.offset, {}).setdefault(loop.body.start_byte, loop.line)
    return max((sorted(set(lines.values())) for lines in by_start.values()), key=len, default=[])


def _is_unrolled_small(loop: Loop) -> bool:
    limit = re.search(r"<\s*(\d+)\s*;", loop.text)
    return bool(limit) and int(limit[1][:6]) <= 32


def _divergence(trace: Trace) -> Iterator[Fact]:
    for loop in trace.loops:
        if loop.data_bound:
            yield Fact("warp-divergence", loop.line, f"{loop.text[:50]}: each lane loops as often as its data says")
    for condition, value, loops in trace.conditions:
        text = node_text(condition)
        strided = re.search(r"%\s*\(?\s*(?:2\s*\*\s*\w+|\w+\s*\*\s*2|\w+\s*<<\s*1|[a-z]\w*)", text)
        odd = re.search(r"%\s*2\b|&\s*1\b", text) and isinstance(value, tuple) and not loops
        if isinstance(value, tuple) and ((strided and loops) or odd):
            yield Fact("warp-divergence", line_of(condition), f"if {text}: lanes of one warp part, {sum(map(bool, value))} of 32 go in")


def _tree_reductions(trace: Trace) -> Iterator[Fact]:
    for line, loops in trace.barriers:
        loop = loops[-1] if loops else None
        if loop is None or not _HALVING.search(loop.text):
            continue
        if not re.search(r">\s*(?:32|16)\b|>=\s*(?:32|64)\b", loop.text):
            yield Fact("barrier-stall", loop.line, f"{loop.text[:60]}: a barrier (line {line}) at every level down to one element")


def _chases(trace: Trace) -> Iterator[Fact]:
    for line, text, space in trace.chases:
        word = "latency-short-scoreboard" if space == "shared" else "latency-long-scoreboard"
        yield Fact(word, line, f"{text}: the address depends on what the last turn loaded")


def _spills(trace: Trace, second: Trace) -> Iterator[Fact]:
    known = {(array.name, array.line, array.dims) for array in second.arrays}
    budget = _register_budget(trace)
    for array in trace.arrays:
        words = array.element_bytes
        for size in array.dims:
            words *= size
        words //= 4
        if array.space != "local" or not words or (array.name, array.line, array.dims) not in known:
            continue
        if words > budget * SPILL_SHARE:
            yield Fact("register-spill", array.line, f"{array.name} needs {words} registers of the {budget} that a thread may have")
        elif words >= MANY_REGISTERS:
            yield Fact("low-occupancy-registers", array.line, f"{array.name} alone takes {words} registers a thread")
        elif words >= DYNAMIC_ARRAY_WORDS and (place := _dynamic_use(array.name, trace)):
            yield Fact("register-spill", place.line, f"{place.text}: a local array indexed by a run-time value lives in local memory")


def _dynamic_use(name: str, trace: Trace) -> Access | None:
    return next((a for a in trace.accesses if a.pointer.base == name and not isinstance(a.pointer.offset, int)), None)


def _register_budget(trace: Trace) -> int:
    threads, blocks, *_ = (*trace.launch_bounds, 0, 1)
    if len(trace.launch_bounds) < 2:
        blocks = 1
    return min(MAX_REGISTERS, REGISTERS_PER_SM // (threads * blocks)) if threads > 0 and blocks > 0 else MAX_REGISTERS


def _operands_from_global(trace: Trace) -> Iterator[Fact]:
    """Multiply-adds in a loop whose two operands both come straight from global memory."""
    by_line: dict[int, list[Access]] = {}
    for access in trace.accesses:
        if access.kind == "fragment" and access.loops and access.pointer.space == "global":
            yield Fact("tensor-underused", access.line, f"{access.text}: fragments come straight from global memory")
        if access.kind == "load" and access.loops and access.pointer.space == "global":
            by_line.setdefault(access.line, []).append(access)
    for line, loads in by_line.items():
        body = loads[0].loops[-1].body
        text = next(
            (node_text(n) for n in walk(body) if line_of(n) == line and n.type == "assignment_expression" and "*" in node_text(n)), ""
        )
        bases = {load.pointer.base for load in loads}
        if len(bases) > 1 and re.search(r"\+=[^;]*\]\s*\)?\s*\*|fmaf?\s*\([^;]*\][^;]*\]", text):
            yield Fact("l1-throughput", line, f"{' and '.join(sorted(bases))} come from global memory for every multiply-add")


def _declared_types(source: CudaSource, kernel: Function) -> dict[str, str]:
    types = {param.name: source.aliases.get(param.type, param.type) for param in kernel.params}
    for node in walk(kernel.body):
        if node.type in ("declaration", "parameter_declaration") and (type_node := node.child_by_field_name("type")) is not None:
            declared = source.aliases.get(node_text(type_node), node_text(type_node))
            for declarator in node.children_by_field_name("declarator"):
                name = next((n for n in walk(declarator) if n.type == "identifier"), None)
                if name is not None:
                    types.setdefault(node_text(name), declared)
    return types


def _doubles(kernel: Function, types: dict[str, str]) -> Iterator[Fact]:
    typed = sorted(name for name, declared in types.items() if re.search(r"\bdouble\d?\b", declared))
    if typed:
        yield Fact("fp64-bound", kernel.line, f"double arithmetic: {', '.join(typed[:4])}")
        return
    for node in walk(kernel.body):
        if node.type != "number_literal" or not _DOUBLE_LITERAL.fullmatch(node_text(node)):
            continue
        outer = node.parent
        while outer is not None and outer.type in ("parenthesized_expression", "unary_expression"):
            outer = outer.parent
        if outer is not None and outer.type == "binary_expression" and _is_floating(outer, types):
            yield Fact("fp64-bound", line_of(node), f"{node_text(outer)[:50]}: {node_text(node)} is a double, so this is double arithmetic")


def _is_floating(node: Node, types: dict[str, str]) -> bool:
    return any(_FLOAT_TYPES.search(types.get(node_text(n), "")) for n in walk(node) if n.type == "identifier")


def _divisions(source: CudaSource, kernel: Function, types: dict[str, str]) -> Iterator[Fact]:
    for loop in walk(kernel.body):
        if loop.type not in ("for_statement", "while_statement") or (body := loop.child_by_field_name("body")) is None:
            continue
        if any(n.type in ("for_statement", "while_statement") for n in walk(body)):
            continue
        for node in walk(body):
            if node.type == "binary_expression" and _is_run_time_division(source, kernel, node, types):
                yield Fact(
                    "compute-bound-alu",
                    line_of(node),
                    f"{node_text(node)[:50]}: integer division by a run-time value in the innermost loop",
                )


def _is_run_time_division(source: CudaSource, kernel: Function, node: Node, types: dict[str, str]) -> bool:
    if node_text(node.child_by_field_name("operator")) not in "/%":
        return False
    divisor = node.child_by_field_name("right")
    names = [
        node_text(n) for n in walk(node) if n.type == "identifier" and node_text(n) not in ("threadIdx", "blockIdx", "blockDim", "gridDim")
    ]
    known = [types.get(name, "int" if name in source.constants or name.isupper() else "") for name in names]
    if not all(_INTEGER_TYPES.search(kind) and not _FLOAT_TYPES.search(kind) for kind in known):
        return False
    if any(n.type in ("subscript_expression", "call_expression") for n in walk(node)):
        return False
    inner = [node_text(n) for n in walk(divisor) if n.type == "identifier"]
    params = {param.name for param in kernel.params}
    return (
        bool(inner)
        and any(name in params for name in inner)
        and not any("." in node_text(n) for n in walk(node) if n.type == "number_literal")
    )


def _count(source: CudaSource, node: Node) -> int | None:
    """Threads or blocks of one launch argument; None where it is not constant."""
    dims = node.type == "call_expression" and node_text(node).startswith("dim3")
    arguments = node.child_by_field_name("arguments") if dims else None
    total = 1
    for part in arguments.named_children if arguments is not None else [node]:
        value = constant_value(source, part)
        if value is None:
            return None
        total *= value
    return total

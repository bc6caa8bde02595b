"""CUDA C++ source to facts: parsed with tree-sitter, one warp walked through each kernel, the rest by patterns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from retriever.kernels.cuda_patterns import DTYPES, FEATURES, INTEGER_POINTERS, PADDED_DIMENSION, SWIZZLE, TECHNIQUES
from retriever.kernels.cuda_symptoms import MAX_FACTS_PER_ID, launch_symptoms, text_symptoms, trace_symptoms
from retriever.kernels.cuda_syntax import CudaSource, Function, kernel_headers, parse_cuda
from retriever.kernels.facts import Fact, KernelFacts
from retriever.kernels.families import read_families
from retriever.kernels.missing import missing_techniques
from retriever.kernels.patterns import find_facts, first_of_each
from retriever.kernels.trace import Access, Trace, trace_kernel

MAX_TRACED_KERNELS = 12
"""Kernels of one file that are walked through; a walk costs 1 to 20 ms."""
TILE_NAME = re.compile(
    r"^(?:k?BLOCK|B[MNK]$|T[MNK]$|W[MN]$|TILE|WARP|NUM|STAGES?$|THREADS|VEC|UNROLL|GROUP|DEPTH|k[BW][A-Z]|kStages|kNum|kTile|PER|WIDTH|CHUNK)"
)
"""Names of constants that say how the work is cut."""
MAX_TILES = 24
_PADDED_MEMBER = rf"\b(?!return\b|else\b|case\b)[A-Za-z_]\w*\s+\w+\s*(?:\[[^\[\]]*\])+\s*{PADDED_DIMENSION}\s*;"


def read_cuda(text: str, source_name: str) -> KernelFacts:
    """The facts of a CUDA C++ file."""
    source = parse_cuda(text)
    names = [(kernel.name, kernel.line) for kernel in source.kernels]
    found = {name for name, _ in names}
    names += [(name, source.line(at)) for name, at in kernel_headers(source.text) if name not in found]
    traces = [(kernel, trace_kernel(source, kernel, 0), trace_kernel(source, kernel, 1)) for kernel in source.kernels[:MAX_TRACED_KERNELS]]
    symptoms = [fact for kernel, first, second in traces for fact in (*trace_symptoms(first, second), *text_symptoms(source, kernel))]
    symptoms += launch_symptoms(source)
    symptoms = _limited(sorted(set(symptoms), key=lambda fact: (fact.line, fact.id, fact.why)))
    hints = [hint for kernel, first, _ in traces for hint in _family_hints(kernel, first)]
    families = read_families(names, source_name, _device_code(source), hints)
    techniques = _techniques(source, text, traces, families, symptoms)
    features = first_of_each(find_facts(source.device_text, FEATURES))
    return KernelFacts(
        source=source_name,
        language="cuda",
        parsed=source.error_line is None,
        kernels=tuple(dict.fromkeys(name for name, _ in names)),
        families=families,
        dtypes=_dtypes(source),
        techniques=techniques,
        missing=missing_techniques("cuda", families, techniques, symptoms, names),
        symptoms=tuple(symptoms),
        features=features,
        tiles=_tiles(source, traces),
        notes=_notes(source, len(names)),
    )


def _techniques(
    source: CudaSource, text: str, traces: list[tuple[Function, Trace, Trace]], families: tuple[Fact, ...], symptoms: list[Fact]
) -> tuple[Fact, ...]:
    facts = find_facts(source.device_text, TECHNIQUES)
    facts += find_facts(text, (("loop-unrolling", r"(?m)^[ \t]*#[ \t]*pragma[ \t]+unroll(?![ \t]*\(?[ \t]*1\b)[^\n]*"),))
    if "__shared__" in source.text:
        facts += find_facts(source.code, (("swizzle", SWIZZLE),))
    facts += find_facts(source.text, (("persistent-kernel", grid_stride),)) if (grid_stride := _grid_stride(source.text)) else []
    for kernel, first, _ in traces:
        facts += _structural(source, kernel, first, families, symptoms)
    return first_of_each(sorted(facts, key=lambda fact: (fact.line, fact.id)))


def _grid_stride(text: str) -> str:
    """A pattern for loops that advance by a name computed from gridDim."""
    names = dict.fromkeys(re.findall(r"\b(\w+)\s*=[^=;{}]*\bgridDim\b", text))
    return rf"\+=\s*(?:{'|'.join(map(re.escape, list(names)[:8]))})\b" if names else ""


def _structural(source: CudaSource, kernel: Function, trace: Trace, families: tuple[Fact, ...], symptoms: list[Fact]) -> Iterator[Fact]:
    shared = {array.name: array for array in trace.arrays if array.space == "shared"}
    stores = {a.pointer.base.split("@")[0] for a in trace.accesses if a.kind == "store" and a.pointer.space == "shared"}
    for array in shared.values():
        if re.search(PADDED_DIMENSION, "".join(f"[{text}]" for text in array.dim_texts)) or (array.dims and _padded(array.dims)):
            yield Fact("padding", array.line, f"{array.name}[{']['.join(array.dim_texts)}]")
        if len(array.dims) > 1 and (array.name in stores or not stores):
            yield Fact("shared-memory-tiling", array.line, f"__shared__ {array.name}[{']['.join(array.dim_texts)}]")
        elif not array.dim_texts[0] and re.search(r"\bcp\.async|memcpy_async|ldmatrix", source.text):
            yield Fact("shared-memory-tiling", array.line, f"dynamic shared memory {array.name}, filled by copies")
        elif array.type not in TYPES_OF_SCALARS and array.dim_texts[0] and re.search(rf"\bstruct\s+{re.escape(array.type)}\b", source.text):
            yield Fact("shared-memory-tiling", array.line, f"__shared__ {array.type} {array.name}")
        elif array.element_bytes == 16 and array.name in stores:
            yield Fact("shared-memory-tiling", array.line, f"__shared__ {array.type} {array.name}[{array.dim_texts[0]}]")
    if match := re.search(_PADDED_MEMBER, source.code):
        yield Fact("padding", source.line(match.start()), match[0].rstrip("; "))
    for array in trace.arrays:
        if array.space == "local" and len(array.dims) > 1 and array.type != "bool":
            yield Fact("register-tiling", array.line, f"{array.type} {array.name}[{']['.join(array.dim_texts)}] in registers"[:80])
    for access in trace.accesses:
        if access.kind == "atomic" and access.pointer.space == "shared":
            yield Fact("warp-aggregated-atomics", access.line, f"{access.text}: into shared memory first")
    if _accumulates_wide(source, kernel):
        yield Fact("mixed-precision-accumulate", kernel.line, "16-bit operands, float32 sums")
    row_wise = any(fact.id in ("softmax", "norm") for fact in families[:1])
    passes = [fact for fact in symptoms if fact.id == "dram-bandwidth" and kernel.line <= fact.line <= kernel.end_line]
    held = next((a for a in trace.arrays if a.space == "local" and len(a.dims) == 1), None)
    if row_wise and held and not passes and _reads_global(trace):
        yield Fact("single-pass-row", held.line, f"{held.name}[{held.dim_texts[0]}] keeps the row")


TYPES_OF_SCALARS = frozenset({"float", "double", "int", "unsigned", "half", "__half", "__nv_bfloat16", "char", "bool", "unsigned char"})


def _padded(dims: tuple[int, ...]) -> bool:
    """A last dimension just past a power of two, such as 33 or 132."""
    return len(dims) > 1 and any(dims[-1] - extra >= 16 and (dims[-1] - extra).bit_count() == 1 for extra in (1, 2, 4, 8))


def _accumulates_wide(source: CudaSource, kernel: Function) -> bool:
    narrow = any(re.search(r"half|bfloat16", source.aliases.get(p.type, p.type)) for p in kernel.params if p.pointer)
    body = source.code.encode("utf-8", "replace")[kernel.body.start_byte : kernel.body.end_byte].decode("utf-8", "replace")
    return (
        narrow and re.search(r"\bfloat\s+\w+(?:\[[^\]]*\])*\s*(?:=|\{|;)|fragment\s*<\s*(?:\w+::)*accumulator[^;>]*float", body) is not None
    )


def _reads_global(trace: Trace) -> bool:
    return any(a.kind == "load" and a.pointer.space == "global" for a in trace.accesses)


def _family_hints(kernel: Function, trace: Trace) -> Iterator[Fact]:
    """Families that the walk suggests: an index swap, a multiply-add over two arrays, a reduction, a map, a copy."""
    loads = [a for a in trace.accesses if a.kind == "load" and a.pointer.space == "global"]
    stores = [a for a in trace.accesses if a.kind == "store" and a.pointer.space == "global" and a.offsets]
    atomics = [a for a in trace.accesses if a.kind == "atomic" and a.pointer.space in ("global", "shared")]
    if any(a.pointer.offset is None for a in atomics):
        yield Fact("sort", atomics[0].line, "counts into bins at addresses that are data: a histogram")
    elif _swaps_indices(trace, loads, stores):
        yield Fact("transpose", stores[0].line, "rows are read and columns are written")
    elif _products(trace):
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


def _device_code(source: CudaSource) -> str:
    """The text of kernels and device functions, or of everything where none was parsed."""
    lines = source.code.splitlines()
    parts = [line for f in source.functions if f.name != "main" for line in lines[f.line - 1 : f.end_line]]
    return "\n".join(parts) if source.kernels else source.code


def _dtypes(source: CudaSource) -> tuple[Fact, ...]:
    facts = find_facts(source.device_text, (*DTYPES, *INTEGER_POINTERS))
    named_half = re.search(r"\b(?:int|unsigned|auto|long|size_t)\s+half\b", source.text)  # a half of something, not a type
    kept = [fact for fact in facts if not (named_half and re.match(r"half\b", fact.why))]
    return first_of_each(sorted(kept, key=lambda fact: (fact.line, fact.id)))


def _numbers(source: CudaSource) -> dict[str, int]:
    """Constants whose value is a plain number."""
    texts = {name: (node.text or b"").decode("utf-8", "replace").strip("() ") for name, node in source.constants.items()}
    return {name: int(text[:9]) for name, text in texts.items() if text.isdigit()}


def _tiles(source: CudaSource, traces: list[tuple[Function, Trace, Trace]]) -> dict[str, int]:
    tiles = {name: value for name, value in _numbers(source).items() if TILE_NAME.match(name)}
    for name, value in re.findall(r"\b(?:constexpr|const)\s+(?:int|unsigned|auto|size_t)\s+(\w+)\s*=\s*(\d{1,6})\s*;", source.code):
        if TILE_NAME.match(name):
            tiles.setdefault(name, int(value))
    bounds = next((first.launch_bounds for _, first, _ in traces if first.launch_bounds), ())
    kept = dict(list(tiles.items())[:MAX_TILES])
    return kept | ({"__launch_bounds__": bounds[0]} if bounds else {})


def _limited(facts: list[Fact]) -> list[Fact]:
    """At most so many facts of one id: a kernel that strides everywhere is told once a line, and not fifty times."""
    counts: Counter[str] = Counter()
    kept, seen = [], set()
    for fact in facts:
        if (fact.id, fact.line) not in seen and counts[fact.id] < MAX_FACTS_PER_ID:
            kept.append(fact)
            counts[fact.id] += 1
            seen.add((fact.id, fact.line))
    return kept


def _notes(source: CudaSource, kernels: int) -> tuple[str, ...]:
    notes = []
    if source.error_line is not None:
        notes.append(f"line {source.error_line}: does not parse as CUDA C++; what follows was read by patterns where it had to be")
    if not kernels:
        notes.append("line 1: no __global__ function in this file")
    if kernels > MAX_TRACED_KERNELS:
        notes.append(f"line 1: {kernels} kernels; the accesses of the first {MAX_TRACED_KERNELS} were followed")
    return tuple(notes)

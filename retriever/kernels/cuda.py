"""CUDA C++ source to facts: parsed with tree-sitter, one warp walked through each kernel, the rest by patterns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from retriever.kernels.accesses import Trace
from retriever.kernels.cuda_families import family_hints
from retriever.kernels.cuda_patterns import DTYPES, FEATURES, INTEGER_POINTERS, PADDED_DIMENSION, SWIZZLE, TECHNIQUES
from retriever.kernels.cuda_symptoms import MAX_FACTS_PER_ID, launch_symptoms, text_symptoms, trace_symptoms
from retriever.kernels.cuda_syntax import CudaSource, Function, kernel_headers, parse_cuda
from retriever.kernels.facts import Fact, KernelFacts
from retriever.kernels.families import read_families
from retriever.kernels.missing import missing_techniques
from retriever.kernels.patterns import find_facts, first_of_each
from retriever.kernels.trace import trace_kernel

MAX_TRACED_KERNELS = 12
"""Kernels of one file that are walked through; a walk costs 1 to 20 ms."""
TILE_NAME = re.compile(
    r"^(?:k?BLOCK|B[MNK]$|T[MNK]$|W[MN]$|TILE|WARP|NUM|STAGES?$|THREADS|VEC|UNROLL|GROUP|DEPTH|k[BW][A-Z]|kStages|kNum|kTile|PER|WIDTH|CHUNK)"
)
"""Names of constants that say how the work is cut."""
MAX_TILES = 24
_SCALAR_TYPES = frozenset({"float", "double", "int", "unsigned", "half", "__half", "__nv_bfloat16", "char", "bool", "unsigned char"})
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
    hints = [hint for kernel, first, _ in traces for hint in family_hints(source, kernel, first)]
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
        elif array.type not in _SCALAR_TYPES and array.dim_texts[0] and re.search(rf"\bstruct\s+{re.escape(array.type)}\b", source.text):
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

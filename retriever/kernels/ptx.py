"""PTX to facts by patterns; the same tables read inline assembly in CUDA C++."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retriever.kernels.facts import Fact, KernelFacts
from retriever.kernels.families import read_families
from retriever.kernels.instruction_mix import Mix, mix_families
from retriever.kernels.patterns import Pattern, find_facts, first_of_each
from retriever.kernels.ptx_flow import Flow, Instruction, combines_lanes, map_kind, product_kind, read_flow

_SCOPED = r"(?:relaxed|acquire|release|acq_rel)\.(?:cta|cluster|gpu|sys)"
INSTRUCTION_TECHNIQUES: tuple[Pattern, ...] = (
    ("relaxed-fences", rf"\bfence\.acq_rel\.[\w.]+|\b(?:ld|st|red|atom)\.(?:async\.)?{_SCOPED}[\w.:]*|\bmembar\.cta\b"),
    ("vectorized-access", r"\b(?:ld|st)\.global[.\w:]*\.v[248]\.\w+"),
    ("async-copy", r"\bcp\.async\.c[ag]\.[\w.:]+"),
    ("tma-bulk-copy", r"\bcp\.async\.bulk\.(?:tensor|shared|global)[\w.:]*"),
    ("tma-multicast", r"\.multicast::cluster"),
    ("tensor-core-mma", r"\b(?:mma\.(?:sync|sp)|wmma\.mma)\.[\w.:]+"),
    ("wgmma-pipeline", r"\bwgmma\.mma_async[\w.:]*"),
    ("tcgen05-mma", r"\btcgen05\.mma[\w.:]*"),
    ("warp-shuffle-reduction", r"\b(?:shfl\.sync\.(?:bfly|down)|redux\.sync)[\w.]*"),
    ("fast-math", r"\b(?:ex2|lg2|rcp|tanh|sin|cos|div|sqrt)\.approx[\w.]*"),
    ("packed-math", r"\b(?:fma|add|mul|max|min)\.[\w.]*(?:f16x2|bf16x2|f32x2)|\bdp4a\.[\w.]+"),
    ("thread-block-clusters", r"\b(?:barrier\.cluster|mapa\.|(?:ld|st)\.shared::cluster)[\w.:]*"),
    ("programmatic-launch", r"\bgriddepcontrol\.\w+"),
    (
        "cache-hints",
        r"\.L[12]::(?:evict\w+|cache_hint|no_allocate)|\bcreatepolicy\.[\w.]+|\b(?:ld|st)\.global[.\w:]*\.(?:nc|cs|cg|cv|lu|wt)\b",
    ),
    ("warp-specialization", r"\bsetmaxnreg\.[\w.]+"),
    ("software-pipelining", r"\b(?:cp\.async\.wait_group|wgmma\.wait_group[\w.]*)\s+(?:[1-9]|%\d)"),
)
INSTRUCTION_FEATURES: tuple[Pattern, ...] = (
    ("cp-async", r"\bcp\.async\.c[ag]\.[\w.:]+"),
    ("tma", r"\bcp\.(?:async|reduce\.async)\.bulk[\w.:]*"),
    ("mbarrier", r"\bmbarrier\.[\w.:]+"),
    ("wgmma", r"\bwgmma\.\w+"),
    ("mma-sync-bf16", r"\bmma\.sync\.[\w.:]*\.(?:bf16|tf32)\b[\w.]*"),
    ("mma-sync-fp8", r"\bmma\.sync\.[\w.:]*\.(?:e4m3|e5m2)\b[\w.]*"),
    ("mma-sync-int8", r"\bmma\.sync\.[\w.:]*\.[su]8\b[\w.]*"),
    ("mma-sync-block-scaled", r"\bmma\.sync\.[\w.:]*(?:block_scale|mxf\w+)[\w.:]*"),
    ("mma-fp64", r"\bmma\.sync\.[\w.:]*\.f64\b[\w.]*"),
    ("mma-sync", r"\bmma\.sync\.[\w.:]*\.f16\b[\w.]*|\bwmma\.mma\.[\w.]+"),
    ("sparse-mma", r"\bmma\.sp\b[\w.:]*|\bwgmma\.mma_async\.sp\b[\w.]*"),
    ("ldmatrix", r"\bldmatrix\.[\w.:]+"),
    ("stmatrix", r"\bstmatrix\.[\w.:]+"),
    ("setmaxnreg", r"\bsetmaxnreg\.\w+"),
    ("clusters", r"\bbarrier\.cluster\.\w+|\.reqnctapercluster|%cluster_\w+|multicast::cluster"),
    ("dsmem", r"\bmapa\.[\w.:]+|\b(?:ld|st|atom|red)\.(?:async\.)?[\w.]*shared::cluster[\w.:]*"),
    ("griddepcontrol", r"\bgriddepcontrol\.\w+"),
    ("tcgen05", r"\btcgen05\.\w+"),
    ("tensor-memory", r"\btcgen05\.(?:alloc|ld|st|cp)\b"),
    ("cta-pair", r"\.cta_group::2"),
    ("cluster-launch-control", r"\bclusterlaunchcontrol\.\w+"),
    ("fma-f32x2", r"\b(?:fma|add|mul)\.[\w.]*f32x2"),
    ("dp4a", r"\bdp4a\.[\w.]+"),
    ("redux-f32", r"\bredux\.sync\.[\w.]*f32"),
    ("redux", r"\bredux\.sync\.[\w.]*[sub]32"),
    ("fp8-convert", r"\bcvt\.[\w.]*(?:e4m3|e5m2)\w*"),
    ("fp4-convert", r"\bcvt\.[\w.]*e2m1\w*"),
    ("l2-persistence", r"\bcreatepolicy\.[\w.]+|\bapplypriority\.[\w.]+"),
    ("bf16-arith", r"\b(?:fma|add|mul|max|min)\.(?:rn\.)?(?:relu\.)?bf16(?:x2)?\b"),
    ("multimem", r"\bmultimem\.[\w.:]+"),
)
_DTYPES: tuple[Pattern, ...] = (
    ("fp64", r"\b(?:ld|st|fma|add|mul)[\w.:]*\.f64"),
    ("fp8", r"\.e4m3\w*|\.e5m2\w*"),
    ("fp4", r"\.e2m1\w*"),
    ("bf16", r"\.bf16\w*"),
    ("tf32", r"\.tf32\b"),
    ("fp16", r"\.f16\w*"),
    ("int8", r"\.[su]8\.[su]8|\bdp4a"),
    ("fp32", r"\b(?:ld|st|fma|add|mul|max|ex2|mma|wgmma|red|atom)[\w.:]*\.f32"),
)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
MAX_FOLLOWED = 12
"""Kernels of one listing whose instructions are followed."""
_LIMIT = re.compile(r"\.(maxntid|reqntid|minnctapersm|maxnreg|reqnctapercluster)\s+(\d+)")
_INSTRUCTION = re.compile(r"^[ \t{]*(?:@!?%?[\w$]+[ \t]+)?([a-z]\w*(?:\.[\w:]+)+)(?=[\s;])", re.M)
NOT_TELLING = ("mov", "cvta", "setp", "bra", "ret", "add", "sub", "mad", "mul", "shl", "shr", "and", "or", "selp")
"""Instructions of every kernel; they are not listed."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.S)


def read_ptx(text: str, source_name: str) -> KernelFacts:
    """The facts of a PTX listing; it is never assembled here, so `parsed` says only that its header and an entry were found."""
    code = _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    entries = list(_ENTRY.finditer(code))
    names = [(match[1], code.count("\n", 0, match.start()) + 1) for match in entries]
    kernels = tuple(dict.fromkeys(name for name, _ in names))
    whole = bool(kernels) and re.search(r"^\s*\.version\s+\d", code, re.M) is not None
    techniques = find_facts(code, INSTRUCTION_TECHNIQUES)
    if match := re.search(r"\.(?:max|req)ntid\b[^\n]*", code):
        techniques.append(Fact("occupancy-tuning", code.count("\n", 0, match.start()) + 1, match[0].strip()))
    symptoms = find_facts(code, (("register-spill", r"\b(?:ld|st)\.local[\w.]*"), ("fp64-bound", r"\b(?:fma|mul|div)[\w.]*\.f64")))
    return KernelFacts(
        source=source_name,
        language="ptx",
        parsed=whole,
        kernels=kernels,
        families=read_families(names, source_name, "", _hints(code, entries)),
        dtypes=tuple(find_facts(code, _DTYPES)),
        techniques=first_of_each(techniques),
        missing=(),
        symptoms=tuple(symptoms),
        features=tuple(find_facts(code, INSTRUCTION_FEATURES)),
        tiles={name: int(value[:9]) for name, value in _LIMIT.findall(code)},
        notes=() if whole else ("line 1: no .version line or no .entry: read as a fragment of PTX",),
        instructions=_counted(code),
    )


def _hints(code: str, entries: list[re.Match[str]]) -> Iterator[Fact]:
    """Families of each kernel of the listing; a fragment without an entry is read as one."""
    starts = [match.start() for match in entries[: MAX_FOLLOWED + 1]] or [0]
    ends = [*starts[1:], len(code)]
    for start, end in list(zip(starts, ends))[:MAX_FOLLOWED]:
        yield from mix_families(_mix(code[start:end], code.count("\n", 0, start) + 1))


def _mix(code: str, line: int) -> Mix:
    flow = read_flow(code)

    def first(pattern: str) -> str:
        return next((each.name for each in flow.instructions if re.match(pattern, each.name)), "")

    return Mix(
        line,
        mma=first(r"mma\.|wmma\.mma|wgmma\.mma_async|tcgen05\.mma"),
        exponential=first(r"ex2\."),
        maximum=bool(first(r"max\.[\w.]*f(?:16|32|64)|max\.[\w.]*bf16")),
        root=first(r"rsqrt\.|sqrt\."),
        across=combines_lanes(flow),
        upward=first(r"shfl\.(?:sync\.)?up"),
        barrier=bool(first(r"bar(?:rier)?\.")),
        loop=_loops(code),
        reciprocal=bool(first(r"rcp\.|div\.[\w.]*f32") and re.search(r"\b(?:add|fma)\.[\w.]*f32[^;]*\b0f3F800000", code)),
        hyperbolic=first(r"tanh\."),
        narrowing=first(r"cvt\.[\w.]*(?:e4m3|e5m2|e2m1|e2m3|e3m2)|cvt\.[\w.]*\.[su]8\.f(?:16|32)"),
        counts_at_data=next((each.name for each in flow.instructions if _counts(flow, each)), ""),
        adds_atomically=first(r"(?:red|atom)\.[\w.]*add\.[\w.]*f(?:16|32|64)"),
        stores=bool(first(r"st\.global")),
        products=product_kind(flow),
        maps=map_kind(flow),
    )


def _counts(flow: Flow, instruction: Instruction) -> bool:
    """An integer atomic at an address that rests on what was loaded."""
    integer = re.match(r"(?:red|atom)\.[\w.]*(?:add|inc)\.(?:[us](?:32|64)|b32)$", instruction.name)
    return integer is not None and "data" in flow.address(instruction)


def _loops(code: str) -> bool:
    """A branch back to a label that stands before it."""
    labels = {match[1]: match.start() for match in re.finditer(r"^[ \t]*([$\w]+):", code, re.M)}
    return any(labels.get(match[1], match.start()) < match.start() for match in re.finditer(r"\bbra(?:\.uni)?[ \t]+([$\w]+)", code))


def _counted(code: str) -> tuple[Fact, ...]:
    """Spelled-out instructions with how often each stands there, the most frequent first; what every kernel has is left out."""
    found: dict[str, list[int]] = {}
    for match in _INSTRUCTION.finditer(code):
        if match[1].split(".")[0] not in NOT_TELLING and not match[1].startswith("ld.param"):
            found.setdefault(match[1], []).append(match.start(1))
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(Fact(name, code.count("\n", 0, places[0]) + 1, f"{len(places)} times") for name, places in ordered)

"""SASS listings (`cuobjdump -sass`, `nvdisasm`) to facts: opcodes counted, and what they show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from retriever.kernels.facts import Fact, KernelFacts
from retriever.kernels.families import read_families
from retriever.kernels.instruction_mix import Mix, mix_families
from retriever.kernels.patterns import Pattern, find_facts, first_of_each

_ROW = re.compile(r"^[ \t]*(?:\.L_\w+:[ \t]*)?/\*[0-9a-f]{4,}\*/\s+\{?\s*(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*(?:\.\w+)*)", re.M)
_FUNCTION = re.compile(r"^[ \t]*(?:Function[ \t]*:[ \t]*(\S+)|\.section\s+\.text\.([\w$.]+),|\.type\s+([\w$]+),@function)", re.M)
_TARGET = re.compile(r"(?:code for|\.target|arch\s*=|EF_CUDA_)\s*\(?(?:sm_|SM)(\d+[af]?)", re.I)
_REGISTERS = re.compile(r"SHI_REGISTERS=(\d+)|\bREG:(\d+)|Used (\d+) registers")
_REGISTER = re.compile(r"(?<![A-Z\w])R(\d{1,3})\b")
MIN_ROWS = 1
MAX_FOLLOWED = 12
"""Functions of one listing that are told apart."""
NOT_TELLING = ("MOV", "NOP", "BRA", "EXIT", "S2R", "CS2R", "LDC", "ULDC", "IMAD", "IADD3", "ISETP", "UMOV", "R2UR", "SEL", "LEA", "RET")
"""Opcodes of every kernel; they are not listed."""

_AT = r"(?m)^[^\n]*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?"
TECHNIQUES: tuple[Pattern, ...] = tuple(
    (technique, _AT + opcode)
    for technique, opcode in (
        ("vectorized-access", r"(?:LDG|STG)\.E\.(?:\w+\.)*128\b"),
        ("async-copy", r"LDGSTS\b[.\w]*"),
        ("tma-bulk-copy", r"(?:UTMALDG|UTMASTG|UBLKCP)\b[.\w]*"),
        ("tma-multicast", r"UTMALDG[.\w]*MULTICAST"),
        ("tensor-core-mma", r"[HIBDQO]MMA\.(?!2)[.\w]*"),
        ("wgmma-pipeline", r"[HQIB]GMMA\b[.\w]*"),
        ("tcgen05-mma", r"UTC[HQIO]MMA\b[.\w]*"),
        ("warp-shuffle-reduction", r"(?:SHFL\.(?:BFLY|DOWN)|C?REDUX)\b[.\w]*"),
        ("fast-math", r"MUFU\.(?:EX2|LG2|TANH|RCP|RSQ|SIN|COS)\b"),
        ("packed-math", r"(?:FFMA2|FADD2|FMUL2|HFMA2\.BF16_V2|IDP\.4A)\b[.\w]*"),
        ("programmatic-launch", r"(?:ACQBULK|PREEXIT)\b"),
        ("warp-specialization", r"USETMAXREG\b[.\w]*"),
        ("thread-block-clusters", r"UCGABAR_\w+"),
    )
)
_MMA = r"(?:[HIBDQO]MMA|[HQIB]GMMA|UTC[HQIO]MMA)\b"
_BACK = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?BRA(?:\.\w+)*\s+(?:!?U?P\w+,\s*)?`?\(?(?:0x([0-9a-f]+)|(\.L_\w+))")
FEATURES: tuple[Pattern, ...] = tuple(
    (feature, _AT + opcode)
    for feature, opcode in (
        ("cp-async", r"LDGSTS\b[.\w]*"),
        ("tma", r"(?:UTMA\w+|UBLK\w+)\b[.\w]*"),
        ("mbarrier", r"SYNCS\.(?:ARRIVE|PHASECHK|EXCH)\b[.\w]*"),
        ("wgmma", r"[HQIB]GMMA\b[.\w]*"),
        ("tcgen05", r"UTC[HQIO]MMA\b[.\w]*"),
        ("tensor-memory", r"(?:LDTM|STTM|UTCATOMSWS)\b[.\w]*"),
        ("cta-pair", r"UTC\w+\.2CTA\b[.\w]*"),
        ("mma-sync-fp8", r"QMMA\.[.\w]*"),
        ("mma-sync-bf16", r"HMMA\.[.\w]*(?:BF16|TF32)\b[.\w]*"),
        ("mma-sync-int8", r"IMMA\.[.\w]*[SU]8\b[.\w]*"),
        ("mma-fp64", r"DMMA\b[.\w]*"),
        ("mma-sync", r"HMMA\.\d+[.\w]*"),
        ("sparse-mma", r"[HIQ]MMA\.SP\b[.\w]*"),
        ("ldmatrix", r"LDSM\b[.\w]*"),
        ("stmatrix", r"STSM\b[.\w]*"),
        ("setmaxnreg", r"USETMAXREG\b[.\w]*"),
        ("clusters", r"UCGABAR_\w+"),
        ("griddepcontrol", r"(?:ACQBULK|PREEXIT)\b"),
        ("dp4a", r"IDP\.4A\b[.\w]*"),
        ("redux", r"C?REDUX\b[.\w]*"),
        ("fma-f32x2", r"(?:FFMA2|FADD2|FMUL2)\b[.\w]*"),
    )
)
SYMPTOMS: tuple[Pattern, ...] = (
    ("register-spill", _AT + r"(?:STL|LDL)\b[.\w]*"),
    ("fp64-bound", _AT + r"(?:DFMA|DADD|DMUL)\b[.\w]*"),
)
DTYPES: tuple[Pattern, ...] = (
    ("bf16", _AT + r"\w+\.[.\w]*BF16[.\w]*"),
    ("tf32", _AT + r"\w+\.[.\w]*TF32\b"),
    ("fp8", _AT + r"(?:QMMA|QGMMA|UTCQMMA|F2FP\.[.\w]*E[45]M[32])[.\w]*"),
    ("fp16", _AT + r"(?:HMMA\.\d+\.F(?:16|32)|HADD2|HMUL2|HFMA2)(?![.\w]*BF16)[.\w]*"),
    ("fp64", _AT + r"(?:DFMA|DADD|DMUL|DMMA)\b[.\w]*"),
    ("int8", _AT + r"(?:IMMA|IDP)\.[.\w]*[SU]8\b[.\w]*"),
    ("fp32", _AT + r"(?:FFMA|FADD|FMUL|MUFU)\b[.\w]*"),
)


def is_sass(text: str) -> bool:
    """Whether a text is a listing of machine code: rows of an address in a comment and an opcode, and no PTX header."""
    return len(_ROW.findall(text[:20_000])) >= MIN_ROWS and not re.search(r"^\s*\.version\s+\d", text[:20_000], re.M)


def read_sass(text: str, source_name: str) -> KernelFacts:
    """The facts of a listing."""
    rows = list(_ROW.finditer(text))
    counts = Counter(match[1] for match in rows)
    first = {match[1]: text.count("\n", 0, match.start(1)) + 1 for match in reversed(rows)}
    named = [(next(filter(None, match.groups())), match.start()) for match in _FUNCTION.finditer(text)]
    places = {name: text.count("\n", 0, at) + 1 for name, at in reversed(named)}
    kernels = tuple(dict.fromkeys(name for name, _ in named))
    target = _TARGET.search(text)
    registers = [int(next(filter(None, groups))) for groups in _REGISTERS.findall(text)]
    used = [int(number) for number in _REGISTER.findall(text) if int(number) < 255]
    notes = [f"line 1: machine code{f' for sm_{target[1]}, which runs there only' if target else ' of an unknown architecture'}"]
    if not kernels:
        notes.append("line 1: no function is named: read as a fragment")
    return KernelFacts(
        source=source_name,
        language="sass",
        parsed=bool(kernels) and target is not None,
        kernels=kernels,
        families=read_families([(name, places[name]) for name in kernels], source_name, "", _hints(text, [at for _, at in named], rows)),
        dtypes=tuple(find_facts(text, DTYPES)),
        techniques=first_of_each(find_facts(text, TECHNIQUES)),
        missing=(),
        symptoms=tuple(find_facts(text, SYMPTOMS)),
        features=tuple(find_facts(text, FEATURES)),
        tiles={"registers": max(registers)} if registers else {"registers_at_least": max(used) + 1} if used else {},
        notes=tuple(notes),
        instructions=tuple(
            Fact(name, first[name], f"{count} times")
            for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
            if name.split(".")[0] not in NOT_TELLING
        ),
    )


def _hints(text: str, starts: list[int], rows: list[re.Match[str]]) -> Iterator[Fact]:
    """Families of each function of the listing; a fragment is read as one."""
    bounds = [*(starts or [0])[:MAX_FOLLOWED], len(text)]
    for start, end in pairwise(bounds):
        names = [match[1] for match in rows if start <= match.start() < end]
        if names:
            yield from mix_families(_mix(names, text[start:end], text.count("\n", 0, start) + 1))


def _mix(names: list[str], text: str, line: int) -> Mix:
    def first(pattern: str) -> str:
        return next((name for name in names if re.match(pattern, name)), "")

    return Mix(
        line,
        mma=first(_MMA),
        exponential=first(r"MUFU\.EX2"),
        maximum=bool(first(r"FMNMX|HMNMX|VHMNMX")),
        root=first(r"MUFU\.(?:RSQ|SQRT)"),
        across=first(r"SHFL\.(?:BFLY|DOWN)|C?REDUX"),
        upward=first(r"SHFL\.UP"),
        barrier=bool(first(r"BAR\.")),
        loop=_loops(text),
        reciprocal=bool(first(r"MUFU\.RCP") and re.search(r"\b(?:FADD|FFMA)\b[.\w]* [^;\n]*, 1 ?;", text)),
        hyperbolic=first(r"MUFU\.TANH"),
        narrowing=first(r"F2FP\.[.\w]*E(?:4M3|5M2|2M1|2M3|3M2)|F2I[.\w]*\.[SU]8\b"),
        counts_at_data=first(r"ATOMS\.POPC\.INC"),
        adds_atomically=first(r"(?:RED|ATOMG?)\.[.\w]*ADD\.[.\w]*F(?:16|32|64)"),
        stores=bool(first(r"STG\b")),
    )


def _loops(text: str) -> bool:
    """A branch to an address or label that stands before it; the branch to itself after the end is none."""
    labels = {match[1]: match.start() for match in re.finditer(r"^[ \t]*(\.L_\w+):", text, re.M)}
    return any(
        int(match[2], 16) < int(match[1], 16) if match[2] else labels.get(match[3], len(text)) < match.start() - 1
        for match in _BACK.finditer(text)
    )

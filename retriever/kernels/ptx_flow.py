"""Registers of a PTX kernel followed to where they come from: threads, blocks, parameters, loads. Order and branches do not count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_INSTRUCTIONS = 6_000
"""Instructions followed in one kernel; unrolled matrix products have about 3,000."""
MAX_DEPTH = 40
MAX_WRITERS = 8
"""Writers of one register; a compiler leaves one, and one more for each way into a loop."""
_STATEMENT = re.compile(r"(?:^|(?<=[;{}]))\s*(?:@!?%?[\w$]+\s+)?([a-z]\w*(?:\.[\w:]+)*)\s+([^;]+);", re.M)
_REGISTER = re.compile(r"%(?!tid|ntid|ctaid|nctaid|laneid|warpid)[a-zA-Z]\w*")
_PLACE = re.compile(r"%(?:tid|ctaid|laneid|warpid)(?:\.[xyz])?")
_CUTS = ("shr", "and", "rem", "div", "bfe")
"""What cuts a place into row and column: its result is a place of its own."""
_PASSES = ("mov", "cvt", "selp", "prmt", "shl", "and")
"""What hands a loaded value on, halves unpacked."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: name, what it writes, what it reads as text."""

    name: str
    results: tuple[str, ...]
    sources: tuple[str, ...]
    text: str

    @property
    def kind(self) -> str:
        """The first part of the name."""
        return self.name.split(".")[0]


@dataclass(slots=True)
class Flow:
    """The instructions of one kernel and who writes which register."""

    instructions: list[Instruction]
    writers: dict[str, list[Instruction]] = field(default_factory=dict)
    known: dict[str, frozenset[str]] = field(default_factory=dict)

    def places(self, register: str, depth: int = 0) -> frozenset[str]:
        """Special registers that a value was computed from; `data` where a load is among them."""
        if register in self.known or depth > MAX_DEPTH:
            return self.known.get(register, frozenset())
        self.known[register] = frozenset()  # a register that depends on itself adds nothing new
        found: set[str] = set()
        for instruction in self.writers.get(register, ()):
            if instruction.kind in ("ld", "atom") and not instruction.name.startswith("ld.param"):
                found.add("data")
                continue
            parts = set(_PLACE.findall(" ".join(instruction.sources)))
            for source in instruction.sources:
                for name in _REGISTER.findall(source):
                    parts |= self.places(name, depth + 1)
            if instruction.kind in _CUTS and parts and "data" not in parts:
                parts = {f"{instruction.kind} {instruction.sources[-1]} of {' '.join(sorted(parts))}"}
            found |= parts
        self.known[register] = frozenset(found)
        return self.known[register]

    def load_of(self, register: str, depth: int = 0) -> Instruction | None:
        """The load from global or shared memory that a value is, handed on but not computed with."""
        if len(self.writers.get(register, ())) > MAX_WRITERS:
            return None
        writers = [w for w in self.writers.get(register, ()) if w.kind != "mov" or _REGISTER.search(" ".join(w.sources))]
        if len(writers) != 1 or depth > MAX_DEPTH:  # a constant is what a masked load gives elsewhere
            return None
        (writer,) = writers
        if writer.kind == "ld" and not writer.name.startswith(("ld.param", "ld.local")):
            return writer
        if writer.kind in _PASSES and writer.sources and (names := _REGISTER.findall(writer.sources[0])):
            return self.load_of(names[0], depth + 1)
        return None

    def address(self, instruction: Instruction) -> frozenset[str]:
        """Places that the address of a load, store or atomic follows."""
        names = _REGISTER.findall(_bracketed(instruction.text))
        return frozenset().union(*(self.places(name) for name in names))

    def offset(self, instruction: Instruction) -> str:
        """The register added to a base pointer, and the constant: the same for accesses at the same place of two arrays."""
        inside = _bracketed(instruction.text)
        names, constant = _REGISTER.findall(inside), re.search(r"\+\s*(-?\d+)", inside)
        writers = self.writers.get(names[0], ()) if names else ()
        if len(writers) != 1 or writers[0].kind != "add":
            return ""
        return f"{writers[0].sources[-1]}+{constant[1] if constant else 0}"


def read_flow(code: str) -> Flow:
    """The instructions of one kernel's text."""
    flow = Flow([])
    for match in _STATEMENT.finditer(code):
        if len(flow.instructions) >= MAX_INSTRUCTIONS:
            break
        instruction = _instruction(match[1], match[2])
        flow.instructions.append(instruction)
        for result in instruction.results:
            flow.writers.setdefault(result, []).append(instruction)
    return flow


def _instruction(name: str, operands: str) -> Instruction:
    parts = [part.strip() for part in re.split(r",(?![^{\[]*[}\]])", operands)]
    if name.split(".")[0] in ("st", "red", "bra", "bar", "ret", "call", "membar", "fence"):
        return Instruction(name, (), tuple(parts), operands)
    return Instruction(name, tuple(_REGISTER.findall(parts[0])), tuple(parts[1:]), operands)


def _bracketed(text: str) -> str:
    match = re.search(r"\[([^\]]*)\]", text)
    return match[1] if match else ""


def product_kind(flow: Flow) -> str:
    """Whose places the loads follow that multiply-adds sum up: `gemm`, `gemv`, `dot`, or nothing."""
    kinds = set(_product_kinds(flow))
    return next((kind for kind in ("gemm", "gemv", "dot") if kind in kinds), "")


def _product_kinds(flow: Flow) -> Iterator[str]:
    for each in flow.instructions:
        if each.kind not in ("fma", "dp4a") or len(each.sources) < 3:
            continue
        left, right, total = (flow.load_of(source) for source in each.sources[:3])
        if left is None or right is None or left is right or total is not None:
            continue
        one, other = flow.address(left), flow.address(right)
        if "data" in one | other:
            continue
        if all("tid" in " ".join(part) for part in (one - other, other - one)):
            yield "gemm"
        elif bool(one - other) != bool(other - one):
            yield "gemv"
        elif one == other:
            yield "dot"


def map_kind(flow: Flow) -> str:
    """`copy` or `elementwise` where every store goes to the place of a load of each array; else nothing."""
    if any(re.match(r"(?:ld|st)\.shared|shfl|bar|red|atom", each.name) for each in flow.instructions):
        return ""  # values go from thread to thread
    loads = [each for each in flow.instructions if each.name.startswith("ld.global")]
    stores = [each for each in flow.instructions if each.name.startswith("st.global")]
    places = {flow.offset(each) for each in stores}
    if not loads or not stores or "" in places or {flow.offset(each) for each in loads} != places:
        return ""
    moved = all(flow.load_of(name) is not None for each in stores for name in _REGISTER.findall(each.sources[-1]))
    return "copy" if moved else "elementwise"


def combines_lanes(flow: Flow) -> str:
    """The shuffle whose result an addition, a maximum or a minimum takes in, or the one-instruction reduction."""
    for each in flow.instructions:
        if each.kind == "redux":
            return each.name
    taken: set[str] = set()
    for each in reversed(flow.instructions):  # what is handed on by a move counts where the move's result is taken
        if each.kind in ("add", "max", "min", "fma") or (each.kind in ("mov", "cvt") and taken.intersection(each.results)):
            taken.update(_REGISTER.findall(" ".join(each.sources)))
    shuffles = [each for each in flow.instructions if re.match(r"shfl\.(?:sync\.)?(?:bfly|down)", each.name)]
    return next((each.name for each in shuffles if taken.intersection(each.results)), "")

"""Native or expanded: what the assembler makes of an instruction, read from the disassembled cubin.

Each instruction under test is assembled alone: the example's other instructions under test are left out, since the assembler merges
neighbours that share operands and writes the code of one on the line of another. What is left is made live: every register that it declares
is loaded from memory before and stored after, and so is the carry, so that nothing is folded or dropped for being constant or unused; where
no address is involved, each lane loads its own values. It is assembled with `-lineinfo`, and nvdisasm names for every machine instruction
the line of PTX that it came from. What stands on the line of the instruction under test, without bookkeeping (moves, constants, convergence
barriers, uniform arithmetic, NOP), is what that instruction became. One machine instruction is native, more are an expansion; none means
that it was merged into a neighbour or needs no code, and nothing is said. Fences that belong to a release or an acquire may stand on the
line before it; where one statement orders memory, all of them are its own.

Not judged, but listed: an instruction with an address, whose computation stands on the same line (except for the matrix loads); one that
is left with uniform arithmetic only; and one that is refused or leaves no code alone, which is read from the whole example. A wgmma product
is found on the line of the fence before it, so those are counted in order through the whole entry.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from indexer.isa_examples import Example
from retriever.assemblers import Assembler, Disassembler
from retriever.isa_batch import Batches, batch_module

SASS_TARGETS = ("sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
"""One target for each generation of tensor cores; the `a` targets have what their architecture has."""
BOOKKEEPING = (
    *("NOP", "MOV", "UMOV", "IMAD.MOV", "R2UR", "S2R", "S2UR", "CS2R", "LDC", "ULDC", "LDCU", "BRA", "EXIT", "BSSY", "BSYNC"),
    *("UIADD3", "ULOP3", "USHF", "ULEA", "UIMAD", "UISETP", "USEL", "UPRMT", "WARPSYNC", "YIELD", "CALL.REL.NOINC", "RET.REL.NODEC"),
)
"""Opcodes, and beginnings of opcodes before a dot, that move values, bring lanes together, or work on what all lanes share (U...)."""
ASYNCHRONOUS = ("wgmma.mma_async",)
"""Their registers may not be touched before a wait."""
FENCES = ("MEMBAR", "ERRBAR", "CCTL.IVALL")
ORDERING = {"release", "acquire", "acq_rel", "sc"}
HALVES = {"f16", "bf16", "s16", "u16", "b16"}
"""With these types PRMT puts a half-word in its place for the store that follows."""
CALLS = ("CALL",)
"""A call is never native: the work is in a subroutine, and bookkeeping does not hide it."""

_SIZES = {
    "16": ("b16", "u16", "s16", "f16", "bf16"),
    "32": ("b32", "u32", "s32", "f32", "f16x2", "bf16x2"),
    "64": ("b64", "u64", "s64", "f64"),
}
_SIZE_OF = {name: size for size, names in _SIZES.items() for name in names}
_REGISTERS = re.compile(r"^\.reg\s+\.(\w+)\s+(.+);$", re.S)
_OPCODE = re.compile(r"^(?:[\w$]+:(?!:)\s*)*(?:@!?%?[\w$]+\s+)?([a-z][\w.:]*)")
_LABEL = re.compile(r"(?:[\w$]+:(?!:)\s*)+")
_SECTION = re.compile(r"^\s*\.section\s+\.text\.(\w+),", re.M)
_LINE = re.compile(r'^\s*//## File "[^"]*", line (\d+)')
MACHINE_ROW = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*(?:\.\w+)*)\s*([^;]*);")
_CONSTANT = re.compile(r"^(?:(?:HFMA2|FADD)\S*\s+R\d+, -?RZ, -?RZ|IMAD(?:\.MOV)?(?:\.U32)?\s+R\d+, RZ, RZ, [^-~])")
_NEGATION = re.compile(r"^IMAD\.MOV\S*\s+R\d+, RZ, RZ, [-~]")
_PRODUCT = re.compile(r"^[A-Z]GMMA\b")
MATRIX_ACCESSES = ("ldmatrix", "stmatrix", "wmma")
TAKES_CARRY = ("addc", "subc", "madc")
HEADER_LINES = 3  # of a module: version, target, address size
MAX_REGISTERS = 300  # an example that declares more is left as it is


@dataclass(frozen=True, slots=True)
class Machine:
    """What one spelled-out instruction became on one target."""

    form: str
    target: str
    opcodes: tuple[tuple[str, int], ...]
    """Opcode to how often, without bookkeeping, the most frequent first."""
    judged: bool
    """Whether the count tells: it does not for an instruction with an address."""

    @property
    def native(self) -> bool | None:
        if not self.judged:
            return None
        return sum(count for _, count in self.opcodes) == 1 and not self.opcodes[0][0].startswith(CALLS)


def statements(text: str) -> list[str]:
    """The statements of a body, one a line, without comments."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    return [re.sub(r"\s+", " ", part).strip() for part in re.split(r"(?<=;)|\n(?=\s*[{}]\s*\n)", code) if part.strip()]


def opcode(statement: str) -> str:
    """The instruction of a statement with its modifiers; empty for a directive."""
    match = _OPCODE.match(statement)
    return match[1] if match else ""


def forms(text: str, mnemonics: Iterable[str]) -> list[str]:
    """The spelled-out instructions of a text that begin with one of the mnemonics, in order, each once."""
    found = (opcode(statement) for statement in statements(text))
    return list(dict.fromkeys(form for form in found if form and is_form(form, mnemonics)))


def is_form(form: str, mnemonics: Iterable[str]) -> bool:
    """Whether a spelled-out instruction belongs to one of the mnemonics, whose parts may stand apart: `mma.sync` with `.aligned`."""
    parts = form.split(".")
    for mnemonic in mnemonics:
        wanted = mnemonic.split(".")
        rest = iter(parts[1:])
        if wanted[0] == parts[0] and all(any(part == have or have.startswith(f"{part}::") for have in rest) for part in wanted[1:]):
            return True
    return False


def alone(example: Example, form: str, mnemonics: tuple[str, ...]) -> Example:
    """The example with the first statement of one form and without its other instructions under test."""
    rows = statements(example.text)
    tested = [place for place, row in enumerate(rows) if is_form(opcode(row), mnemonics)]
    kept = next(place for place in tested if opcode(rows[place]) == form)
    left = [row if place == kept or place not in tested else _label(row) for place, row in enumerate(rows)]
    return replace(example, text="\n".join(filter(None, left)) + "\n")


def _label(row: str) -> str:
    match = _LABEL.match(row)
    return match[0] if match else ""


def live(example: Example, mnemonics: tuple[str, ...]) -> Example:
    """The example with every register loaded from memory at its declaration, and stored after each instruction under test that names it.

    The same goes for the carry. It stays as it is where it stands at module level or declares more than MAX_REGISTERS.
    """
    if example.whole_module:
        return example
    lines = [".reg .b64 %wlio;", ".reg .b32 %wlt;", "ld.param.u64 %wlio, [p3];"]
    if not any(_has_address(row) for row in statements(example.text) if is_form(opcode(row), mnemonics)):
        lines += ["mov.u32 %wlt, %laneid;", "mad.wide.u32 %wlio, %wlt, 1024, %wlio;"]
    kinds: dict[str, str] = {}
    for statement in statements(example.text):
        declared = _REGISTERS.match(statement)
        tested = not declared and is_form(opcode(statement), mnemonics) and not statement.startswith(ASYNCHRONOUS)
        lines += [*_carry_in(opcode(statement)), statement] if tested else [statement]
        for name in _names(declared[2]) if declared else ():
            kinds[name] = declared[1]
            lines += _load(name, declared[1], 8 * len(kinds))
        if tested:
            lines += _carry_out(opcode(statement))
            for name in dict.fromkeys(re.findall(r"%[\w$]+", statement)):
                lines += _save(name, kinds.get(name, ""), 8 * (list(kinds).index(name) + 1) if name in kinds else 0)
    lines = lines[:-1] if lines[-1] in ("ret;", "exit;") else lines
    lines += [row for place, (name, kind) in enumerate(kinds.items(), start=1) for row in _save(name, kind, 8 * place)]
    return replace(example, text="\n".join(lines) + "\n") if len(kinds) <= MAX_REGISTERS else example


def _has_address(row: str) -> bool:
    return "[" in row


def _carry_in(form: str) -> list[str]:
    return ["ld.volatile.global.b32 %wlt, [%wlio];", "add.cc.u32 %wlt, %wlt, -1;"] if form.startswith(TAKES_CARRY) else []


def _carry_out(form: str) -> list[str]:
    return ["addc.u32 %wlt, 0, 0;", "st.volatile.global.b32 [%wlio], %wlt;"] if "cc" in form.split(".") else []


def _names(listed: str) -> list[str]:
    found = []
    for name in (part.strip() for part in listed.split(",")):
        many = re.fullmatch(r"(.+)<(\d+)>", name)
        found += [f"{many[1]}{number}" for number in range(int(many[2]))] if many else [name]
    return found


def _load(name: str, kind: str, offset: int) -> list[str]:
    if kind == "pred":
        return [f"ld.volatile.global.b32 %wlt, [%wlio+{offset}];", f"setp.ne.u32 {name}, %wlt, 0;"]
    return [f"ld.volatile.global.b{_SIZE_OF[kind]} {name}, [%wlio+{offset}];"] if kind in _SIZE_OF else []


def _save(name: str, kind: str, offset: int) -> list[str]:
    if kind == "pred":
        return [f"selp.b32 %wlt, 1, 0, {name};", f"st.volatile.global.b32 [%wlio+{offset}], %wlt;"]
    return [f"st.volatile.global.b{_SIZE_OF[kind]} [%wlio+{offset}], {name};"] if kind in _SIZE_OF else []


def read_sass(
    examples: dict[Example, tuple[str, ...]], target: str, assembler: Assembler, disassembler: Disassembler, folder: Path
) -> dict[Example, list[Machine]]:
    """What the instructions of each example became on `target`; `examples` gives the mnemonics under test."""
    bodies = {example: names for example, names in examples.items() if not example.whole_module}
    single = [(example, form, alone(example, form, names)) for example, names in bodies.items() for form in forms(example.text, names)]
    listed = _listed({part: bodies[example] for example, _, part in single}, target, assembler, disassembler, folder)
    found: dict[Example, dict[str, Machine]] = {}
    for example, form, part in single:
        if machine := next((m for m in listed.get(part, ()) if m.form == form), None):
            found.setdefault(example, {})[form] = machine
    missing = {
        example: bodies[example] for example, form, part in single if form not in found.get(example, {}) and part.text != example.text
    }
    for example, machines in _listed(missing, target, assembler, disassembler, folder).items():
        for machine in machines:
            found.setdefault(example, {}).setdefault(machine.form, replace(machine, judged=False))
    ordered = {
        example: [found[example].get(form) for form in forms(example.text, names)] for example, names in bodies.items() if example in found
    }
    return {example: [machine for machine in machines if machine] for example, machines in ordered.items()}


def _listed(
    examples: dict[Example, tuple[str, ...]], target: str, assembler: Assembler, disassembler: Disassembler, folder: Path
) -> dict[Example, list[Machine]]:
    """The instructions under test of each of the texts that is accepted, all read from one cubin."""
    version = assembler.newest
    made = {live(example, names): example for example, names in examples.items()}
    judged = Batches(assembler, folder).judge(list(made), target, version) if made else {}
    kept = [each for each, verdict in judged.items() if verdict.accepted]
    if not kept:
        return {}
    module, ends = batch_module(kept, target, version)
    cubin = folder / f"{target}-{assembler.version}.cubin"
    if not assembler.answer(module, target, folder, cubin).accepted:
        return {}
    entries = machine_lines(disassembler.listing(cubin))
    cubin.unlink()
    rows = module.split("\n")
    found: dict[Example, list[Machine]] = {}
    for number, (made_live, end) in enumerate(zip(kept, ends)):
        example = made[made_live]
        first = ends[number - 1] if number else HEADER_LINES
        lines = list(enumerate(rows[first:end], start=first + 1))
        tested = [(line, row) for line, row in lines if is_form(opcode(row), examples[example]) and "%wl" not in row]
        by_line = entries.get(f"example_{number}", {})
        if len(ordering := [line for line, row in lines if _orders(row)]) == 1:
            by_line = _fences_at(ordering[0], by_line)
        found[example] = _machines(tested, by_line, target)
    return found


def _orders(row: str) -> bool:
    parts = opcode(row).split(".")
    return parts[0] in ("fence", "membar", "mbarrier", "barrier") or bool(set(parts) & ORDERING)


def _fences_at(line: int, by_line: dict[int, list[str]]) -> dict[int, list[str]]:
    """The opcodes with every fence on one line; the assembler may write it on the line before the instruction that it belongs to."""
    moved = {place: [name for name in names if not name.startswith(FENCES)] for place, names in by_line.items()}
    fences = [name for names in by_line.values() for name in names if name.startswith(FENCES)]
    return moved | {line: [*fences, *moved.get(line, ())]}


def _machines(tested: list[tuple[int, str]], by_line: dict[int, list[str]], target: str) -> list[Machine]:
    """One of each form under test, from the first of its statements that left code."""
    products = iter([name for names in by_line.values() for name in names if _PRODUCT.match(name)])
    found: dict[str, Machine] = {}
    for line, row in tested:
        form = opcode(row)
        if form.startswith(ASYNCHRONOUS):
            names = [name] if (name := next(products, "")) else []
        else:
            names = [name for name in by_line.get(line, ()) if not _PRODUCT.match(name)]
        if set(form.split(".")) & HALVES:
            names = [name for name in names if name != "PRMT"] or names
        counted = _without_bookkeeping(Counter(names))
        if counted and form not in found:
            judged = (not _has_address(row) or form.startswith(MATRIX_ACCESSES)) and not any(map(_is_uniform, counted))
            found[form] = Machine(form, target, tuple(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))), judged)
    return list(found.values())


def machine_lines(listing: str) -> dict[str, dict[int, list[str]]]:
    """Opcodes in order by entry and by line of PTX, from a listing with lines."""
    found: dict[str, dict[int, list[str]]] = {}
    section: dict[int, list[str]] = {}
    line = 0
    for row in listing.splitlines():
        if match := _SECTION.match(row):
            section, line = found.setdefault(match[1], {}), 0
        elif match := _LINE.match(row):
            line = int(match[1])
        elif match := MACHINE_ROW.match(row):
            section.setdefault(line, []).append(_name(*match.groups()))
    return found


def _name(opcode: str, operands: str) -> str:
    """The opcode, but MOV for arithmetic that only moves, and IMAD for a move that negates."""
    row = f"{opcode} {operands}"
    return "MOV" if _CONSTANT.match(row) else "IMAD" if _NEGATION.match(row) else opcode


def _without_bookkeeping(counted: Counter[str]) -> Counter[str]:
    """The telling opcodes; all of them where there is nothing else, as for a move."""
    calls = {name: count for name, count in counted.items() if name.startswith(CALLS)}
    telling = {name: count for name, count in counted.items() if not _is_bookkeeping(name)}
    return Counter(telling | calls) or Counter({name: count for name, count in counted.items() if name != "NOP"})


def _is_uniform(name: str) -> bool:
    return name.startswith("U") and _is_bookkeeping(name)


def _is_bookkeeping(name: str) -> bool:
    return any(name == word or name.startswith(f"{word}.") for word in BOOKKEEPING)

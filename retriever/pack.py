"""The context pack: what a reader needs to start, cut to a token budget, the same bytes for the same input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from indexer.errors import InputError
from retriever.rank import Hit, Ranking
from retriever.render import brief, code_text, diagnosis_text, gpu_text, page_body, page_sections, situation_text
from retriever.select import select
from retriever.situation import Situation

BYTES_PER_TOKEN = 3  # over-counts English and code for every common tokenizer, and counts a Chinese character as one
DEFAULT_BUDGET = 12_000

KIND_HEADINGS = {
    "zoo": ("implementation", "## Implementations"),
    "guide": ("guide", "## Guides"),
    "attempt": ("attempt", "## Tried and slower"),
    "technique": ("technique", "## Techniques"),
    "isa": ("instruction", "## Instructions"),
    "hardware": ("hardware", "## Hardware"),
    "pr": ("precedent", "## Precedents"),
}
"""Record kind to the section kind in JSON and the heading above the first such section."""

_FOCUS = {
    "guide": ("Causes", "Cures in the order", "What to try", "What does not help", "How to verify"),
    "pr": ("Idea", "Lesson"),
    "isa": ("Syntax", "Constraints", "Traps", "Example"),
}

# The order in which sections grow from their summary: (kind, place among its kind, form).
_GROWTH = (
    ("zoo", 0, 1),
    *(("guide", place, 1) for place in range(2)),
    ("technique", 0, 1),
    *(("isa", place, 1) for place in range(2)),
    *(("pr", place, 1) for place in range(2)),
    ("zoo", 1, 1),
    ("guide", 2, 1),
    *(("technique", place, 1) for place in (1, 2)),
    *(("isa", place, 1) for place in (2, 3)),
    *(("pr", place, 1) for place in (2, 3)),
    ("hardware", 0, 1),
    ("zoo", 2, 1),
    *(("guide", place, 2) for place in range(3)),
    *(("pr", place, 2) for place in range(4)),
    *(("isa", place, 2) for place in range(4)),
)


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a pack."""

    id: str
    """Record id, or the kind for the parts that are no record."""
    kind: str
    text: str

    @property
    def tokens(self) -> int:
        return count_tokens(self.text)


@dataclass(frozen=True, slots=True)
class Pack:
    """A finished answer."""

    sections: tuple[Section, ...]
    left_out: tuple[dict[str, str], ...]
    """`{id, reason, command}` of what the budget or the GPU kept out."""

    @property
    def text(self) -> str:
        return "\n\n".join(section.text for section in self.sections) + "\n"

    @property
    def tokens(self) -> int:
        return count_tokens(self.text)


@dataclass
class _Item:
    """A record with its forms from short to long."""

    hit: Hit
    forms: list[str]
    heading: str = ""
    form: int = 0
    kept: bool = field(default=True)

    @property
    def text(self) -> str:
        return self.heading + self.forms[self.form]


def count_tokens(text: str) -> int:
    """Tokens as budgets count them: a third of the UTF-8 bytes, rounded up."""
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def build_pack(situation: Situation, ranking: Ranking, root: Path, budget: int = DEFAULT_BUDGET) -> Pack:
    """The pack for a situation, never above `budget` tokens.

    Raises:
        InputError: the budget does not hold even the reading of the situation.
    """
    head = [
        Section("situation", "situation", situation_text(situation)),
        Section("gpu", "gpu", gpu_text(situation.gpu, situation.gpu_source)),
    ]
    if situation.diagnoses:
        head.append(Section("diagnosis", "diagnosis", diagnosis_text(situation.diagnoses)))
    if ranking.nothing_fits:
        head.append(Section("nothing-fits", "advice", nothing_fits_text(ranking)))
        items: dict[str, list[_Item]] = {}
    else:
        items = {kind: _items(kind, hits, root) for kind, hits in select(ranking, situation).items()}
    tail = Section("measure-next", "next", measure_text(situation))
    ordered = [item for kind in KIND_HEADINGS for item in items.get(kind, [])]
    _make_room_for_code(items, ordered, lambda: _assemble(head, ordered, tail, ranking).tokens <= budget)
    for kind, place, form in _GROWTH:
        group = items.get(kind, [])
        if place < len(group) and form < len(group[place].forms) and group[place].kept:
            item = group[place]
            before, item.form = item.form, form
            if _assemble(head, ordered, tail, ranking).tokens > budget:
                item.form = before
    while (pack := _assemble(head, ordered, tail, ranking)).tokens > budget:
        last = next((item for item in reversed(ordered) if item.kept), None)
        if last is None:
            raise InputError(
                f"--budget {budget} is too small: the situation alone takes {pack.tokens} tokens; give at least {pack.tokens + 500}"
            )
        last.kept = False
    return pack


def _make_room_for_code(items: dict[str, list[_Item]], ordered: list[_Item], fits: Callable[[], bool]) -> None:
    """Show the code of the best implementation that fits, even if weaker entries lose their summary for it; else change nothing."""
    needed = items.get("guide", [])[:1]
    for chosen in (item for item in items.get("zoo", []) if len(item.forms) > 1):
        chosen.form = 1
        others = [item for item in ordered if item is not chosen and item not in needed]
        for item in reversed(others):
            if not fits():
                item.kept = False
        if fits():
            for item in (item for item in others if not item.kept):
                item.kept = True
                item.kept = fits()
            return
        chosen.form = 0
        for item in ordered:
            item.kept = True


def _items(kind: str, hits: tuple[Hit, ...], root: Path) -> list[_Item]:
    items = []
    for place, hit in enumerate(hits):
        heading = f"{KIND_HEADINGS[kind][1]}\n\n" if place == 0 else ""
        items.append(_Item(hit, _forms(hit, root), heading))
    return items


def _forms(hit: Hit, root: Path) -> list[str]:
    short = brief(hit)
    if hit.kind == "attempt":
        return [short]  # a warning; whoever wants to try it all the same reads the whole entry
    if hit.applicability.status in ("adapt", "never"):
        return [short]  # code that does not run here would be copied before the note above it is read
    body = page_body(root, hit.record["location"].rsplit(":", 1)[0])
    if hit.kind == "zoo":
        return [short, f"{short}\n\n{body}\n\n{code_text(root, hit.record)}"]
    focus = page_sections(body, _FOCUS.get(hit.kind, ()))
    return [short, *([f"{short}\n\n{focus}"] if focus else []), f"{short}\n\n{body}"]


def _assemble(head: list[Section], items: list[_Item], tail: Section, ranking: Ranking) -> Pack:
    sections = [Section(item.hit.id, KIND_HEADINGS[item.hit.kind][0], item.text) for item in items if item.kept]
    left_out = [
        {
            "id": item.hit.id,
            "reason": "budget: shortened" if item.kept else "budget: not shown",
            "command": f"warplore show {item.hit.id}",
        }
        for item in items
        if not item.kept or item.form < len(item.forms) - 1
    ]
    left_out += [
        {"id": hit.id, "reason": f"never on this GPU: {hit.applicability.reason}", "command": f"warplore show {hit.id}"}
        for hit in ranking.excluded[:3]
    ]
    return Pack((*head, *sections, tail, *_left_out_section(left_out)), tuple(left_out))


def _left_out_section(left_out: list[dict[str, str]]) -> tuple[Section, ...]:
    if not left_out:
        return ()
    lines = ["## Left out", "", "Each whole with `warplore show ID`; a larger `--budget` shows more.", ""]
    lines += [f"- `{item['id']}` ({item['reason']})" for item in left_out]
    return (Section("left-out", "left-out", "\n".join(lines)),)


def nothing_fits_text(ranking: Ranking) -> str:
    """That nothing fits, with the nearest misses labelled as such."""
    lines = ["## Nothing here fits", "", "No entry of the corpus is about this. Nearest misses, for what they are:", ""]
    lines += [f"- `{hit.id}`: {hit.record['title']}" for hit in ranking.hits[:3]]
    lines += ["", "Name the operator, the symptom or an instruction, or give the kernel (`--kernel`) or its report (`--ncu`)."]
    return "\n".join(lines)


def measure_text(situation: Situation) -> str:
    """What to measure next: what the report could not decide, or how to make a report."""
    lines = ["## Measure next", ""]
    name = situation.kernel.kernels[0] if situation.kernel and situation.kernel.kernels else None
    name = name or (situation.diagnoses[0].kernel if situation.diagnoses else "KERNEL")
    options = list(dict.fromkeys(diagnosis.collect_next for diagnosis in situation.diagnoses if diagnosis.collect_next))
    if not situation.diagnoses:
        lines.append("No report was given. Profile one warm launch and pass it with `--ncu report.csv`:")
        options = ["--set full"]
    elif options:
        lines.append("The report leaves bottlenecks undecided; these sections decide them:")
    else:
        lines.append("The report decides every guide. After the change, profile again with the same command and compare:")
        options = ["--set full"]
    base = f"ncu {options[0]} --kernel-name regex:{name} --launch-skip 1 --launch-count 1"
    lines += ["", "```", f"{base} -o report ./your_program", "ncu --import report.ncu-rep --page raw --csv > report.csv", "```"]
    lines.append("")
    lines.append(
        "Time with CUDA events, interleaved with the old version, over data several times the L2; check against a float64 reference first."
    )
    return "\n".join(lines)

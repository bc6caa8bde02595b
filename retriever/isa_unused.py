"""What a GPU offers that a kernel does not use and that kernels of its kind profit from, with zoo kernels that use it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from indexer.gpus import Gpu
from indexer.records import IsaRecord, ZooRecord
from indexer.vocabulary import Vocabulary
from retriever.isa_lookup import verdict
from retriever.isa_modifiers import mnemonics
from retriever.kernels.facts import Fact, KernelFacts
from retriever.kernels.missing import missing_techniques

# What a reason is worth: what the kernel lacks, what it suffers from, a newer neighbour of what it uses, what its kind uses.
# Each further reason of an entry counts for less, so that a page with many tags does not win by them.
_MISSING, _SYMPTOM, _NEWER, _FAMILY, _ZOO = 3.0, 2.0, 3.0, 1.0, 1.0
MIN_SCORE = 2.0
"""A family in common alone says too little: most instructions serve gemm."""
MAX_ZOO = 3
MMA_TECHNIQUES = ("tensor-core-mma", "wgmma-pipeline", "tcgen05-mma")


@dataclass(frozen=True, slots=True)
class Unused:
    """One capability that the kernel leaves aside."""

    id: str
    title: str
    score: float
    """Higher is better."""
    why: tuple[str, ...]
    zoo: tuple[str, ...]
    """Implementations of the same family that use it, then others."""
    companions: tuple[str, ...] = ()
    """Ids of further instructions of the same unit, for which as much or less speaks."""


@dataclass(frozen=True, slots=True)
class UnusedAnswer:
    """All of them, best first, and why there are no more."""

    family: str
    """Family that the kernel was read as; empty when it could not be told."""
    rows: tuple[Unused, ...]
    notes: tuple[str, ...]


def unused(
    facts: KernelFacts,
    gpu: Gpu,
    entries: Sequence[IsaRecord],
    zoo: Sequence[ZooRecord],
    root: Path,
    vocabulary: Vocabulary,
    record: dict | None,
) -> UnusedAnswer:
    """The instructions of `gpu` that `facts` do not show and for which something speaks, best first, ties by id."""
    family = _family(facts, vocabulary)
    missing = facts.missing or _missing_of_listing(facts, family)
    sources = {each.id: _source(each, root) for each in zoo}
    here = [entry for entry in entries if verdict(entry, gpu, record).status == "runs"]
    used = [entry for entry in entries if is_used(entry, facts)]
    rows = []
    for entry in here:
        if entry in used:
            continue
        users = _users(entry, zoo, sources, family)
        score, why = _reasons(entry, missing, facts, family, used)
        if score >= MIN_SCORE:
            rows.append(Unused(entry.id, entry.title, score + (_ZOO if users else 0.0), tuple(why), tuple(users[:MAX_ZOO])))
    by_id = {entry.id: entry for entry in entries}
    # Among equals the younger instruction first: it is what this GPU has and older ones have not.
    rows.sort(key=lambda row: (-row.score, -(by_id[row.id].sm_min or 0), row.id))
    rows = _folded(rows, by_id)
    return UnusedAnswer(family, tuple(rows), tuple(_notes(facts, gpu, family, missing, rows, len(here))))


def is_used(entry: IsaRecord, facts: KernelFacts) -> bool:
    """Whether the kernel shows the instruction: a feature of its own, its page among the counted ones, or its name in what was seen."""
    features = {fact.id for fact in facts.features}
    if entry.requires and features.issuperset(entry.requires):
        return True
    if any(fact.id == entry.id for fact in facts.instructions):
        return True
    seen = " ".join(fact.why for fact in (*facts.techniques, *facts.features))
    return any(re.search(rf"(?<![\w.]){re.escape(name)}(?![\w])", seen) for name in mnemonics(entry))


def _family(facts: KernelFacts, vocabulary: Vocabulary) -> str:
    """The first family read; in a listing the names of the kernels tell, else its products."""
    if facts.families:
        return facts.families[0].id
    words = " ".join(re.sub(r"([a-z])([A-Z])|[_\d]+", r"\1 \2", name) for name in facts.kernels)
    named = next((term.id for term in vocabulary.find(words) if term.kind == "families"), "")
    return named or ("gemm" if {fact.id for fact in facts.techniques} & set(MMA_TECHNIQUES) else "")


def _missing_of_listing(facts: KernelFacts, family: str) -> tuple[Fact, ...]:
    """What kernels of that family use and a listing does not show: only what machine code can show."""
    if facts.families or not family:
        return ()
    found = missing_techniques("cuda", [Fact(family, 1, "")], facts.techniques, facts.symptoms, [(name, 1) for name in facts.kernels[:1]])
    return tuple(fact for fact in found if fact.id in _VISIBLE_IN_LISTINGS)


_VISIBLE_IN_LISTINGS = (
    *("vectorized-access", "async-copy", "tma-bulk-copy", "tensor-core-mma", "wgmma-pipeline", "tcgen05-mma", "warp-shuffle-reduction"),
    *("fast-math", "packed-math", "warp-specialization"),
)


def _source(record: ZooRecord, root: Path) -> str:
    page = root / record.path
    files = (page.with_suffix(suffix) for suffix in (".cu", ".py"))
    return "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file())


def _users(entry: IsaRecord, zoo: Sequence[ZooRecord], sources: dict[str, str], family: str) -> list[str]:
    """Implementations whose code names the instruction or, for want of one, whose techniques it carries; the same family first."""
    names = re.compile(rf"(?<![\w.])(?:{'|'.join(re.escape(name) for name in mnemonics(entry))})(?![\w])")
    users = [each for each in zoo if names.search(sources[each.id])]
    if not users and entry.requires:  # a compiler chose it: Triton code names no instruction
        users = [each for each in zoo if set(entry.requires) <= set(each.requires)]
    return [each.id for each in sorted(users, key=lambda each: (family not in each.families, each.id))]


def _reasons(
    entry: IsaRecord, missing: Sequence[Fact], facts: KernelFacts, family: str, used: Sequence[IsaRecord]
) -> tuple[float, list[str]]:
    score, why = 0.0, []
    for fact in missing:
        if fact.id in entry.techniques:
            score += _MISSING / (1 + len(why))
            why.append(f"serves {fact.id}, which the kernel lacks: {fact.why}")
    for fact in {fact.id: fact for fact in facts.symptoms}.values():
        if fact.id in entry.bottlenecks:
            score += _SYMPTOM / (1 + len(why))
            why.append(f"relieves {fact.id} (line {fact.line}: {fact.why})")
    older = [other for other in used if other.requires and (other.sm_min or 0) < (entry.sm_min or 0) and _neighbours(entry, other)]
    if older:
        score += _NEWER
        why.append(f"newer neighbour of {', '.join(other.id for other in older[:2])}, which the kernel uses")
    if why and family in entry.families:
        score += _FAMILY
        why.append(f"{family} kernels profit from it")
    return score, why


def _neighbours(one: IsaRecord, other: IsaRecord) -> bool:
    return one.id in other.instead or other.id in one.instead


def _folded(rows: Sequence[Unused], entries: dict[str, IsaRecord]) -> list[Unused]:
    """One row for each unit: instructions whose first required feature is the same go with the best of them."""
    heads: dict[str, Unused] = {}
    for row in rows:
        unit = next(iter(entries[row.id].requires), row.id)
        head = heads.get(unit)
        heads[unit] = replace(head, companions=(*head.companions, row.id)) if head else row
    return list(heads.values())


def _notes(facts: KernelFacts, gpu: Gpu, family: str, missing: Sequence[Fact], rows: Sequence[Unused], here: int) -> list[str]:
    notes = list(facts.notes)
    if not family:
        notes.append("the kernel's family could not be told, so nothing is known of what its kind uses; its symptoms alone were compared")
    if rows:
        return notes
    if not missing and not facts.symptoms:
        notes.append(
            f"nothing to name: of the {here} instructions that {gpu.name} has, none serves a technique that {family or 'such'} kernels use "
            "and this one lacks, and no suspicious place was found; a report (--ncu of `warplore context`) may show more"
        )
    else:
        lacks = ", ".join(dict.fromkeys(fact.id for fact in (*missing, *facts.symptoms)))
        notes.append(f"nothing to name: what the kernel lacks or suffers from ({lacks}) is cured in its source, not by another instruction")
    return notes


def unused_text(answer: UnusedAnswer, facts: KernelFacts, gpu: Gpu, count: int) -> str:
    """The answer as markdown, at most `count` rows."""
    lines = [f"# What {gpu.name} has and `{facts.source}` does not use", "", f"Read as: {answer.family or 'no family'}", ""]
    for place, row in enumerate(answer.rows[:count], start=1):
        lines.append(f"{place}. **{row.title}** (`{row.id}`)")
        lines += [f"   - {reason}" for reason in row.why]
        if row.companions:
            lines.append(f"   - with it: {', '.join(row.companions[:6])}{' ...' if len(row.companions) > 6 else ''}")
        lines.append(f"   - used by {', '.join(row.zoo)}" if row.zoo else "   - no zoo kernel uses it yet")
    if len(answer.rows) > count:
        lines.append(f"\n{len(answer.rows) - count} more; -k {len(answer.rows)} shows all.")
    lines += [f"\nNote: {note}" for note in answer.notes]
    return "\n".join(lines)


def unused_json(answer: UnusedAnswer, facts: KernelFacts, gpu: Gpu, count: int) -> dict[str, Any]:
    """The same as plain values."""
    rows = [asdict(row) for row in answer.rows[:count]]
    return {"kernel": facts.source, "gpu": gpu.id, "family": answer.family or None, "unused": rows, "notes": list(answer.notes)}

"""What two targets have and have not in common, read from verified.json."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indexer.errors import CorpusError, InputError, did_you_mean
from indexer.gpus import Gpu, GpuTable
from indexer.isa_examples import TARGET_VERSIONS, read_examples
from indexer.records import IsaRecord
from retriever.inputs import find_gpu
from retriever.isa_modifiers import mnemonics
from retriever.isa_record import refusal
from retriever.isa_table import form_label


@dataclass(frozen=True, slots=True)
class Change:
    """One instruction that two targets treat differently."""

    id: str
    title: str
    what: str
    """`new`, `gone` or `changed`."""
    forms: tuple[str, ...]
    """What the examples whose verdict differs show, each after `new: ` or `gone: `."""
    why: str
    """The refusal of the target that lacks it."""


def target_of(name: str, table: GpuTable) -> str:
    """The assembler target that a name means: itself (`sm_100f`), or that of a GPU, with `a` where the chip has one.

    Raises:
        InputError: it is no target and no GPU.
    """
    spelled = name.strip().lower()
    spelled = f"sm_{spelled[3:]}" if spelled.startswith("sm") and spelled[2:3] in "_ " else spelled
    if spelled in TARGET_VERSIONS:
        return spelled
    if re.fullmatch(r"sm_\d+\w*", spelled):
        raise InputError(f'no target "{name}"{did_you_mean(spelled, tuple(TARGET_VERSIONS))}; targets: {", ".join(TARGET_VERSIONS)}')
    return gpu_target(find_gpu(name, table))


def gpu_target(gpu: Gpu) -> str:
    """The target that has all that a GPU has.

    Raises:
        InputError: the assemblers checked here do not know it.
    """
    for target in (f"sm_{gpu.sm}a", f"sm_{gpu.sm}"):
        if target in TARGET_VERSIONS:
            return target
    raise InputError(f"{gpu.name} is sm_{gpu.sm}, which was not checked; targets: {', '.join(TARGET_VERSIONS)}")


def diff(before: str, after: str, entries: Sequence[IsaRecord], record: dict, root: Path) -> list[Change]:
    """Instructions new, gone and changed from one target to another, in id order; unchanged ones are left out.

    Examples that one target's assembler does not know, or refuses for the PTX version alone, are not compared.
    """
    found = []
    for entry in entries:
        verified = record["entries"].get(entry.id)
        if not verified:
            continue
        labels = _labels(entry, root)
        answers = [
            (label, each, one, other)
            for label, each in zip(labels, verified["examples"])
            if (one := _accepts(each, before)) is not None and (other := _accepts(each, after)) is not None
        ]
        differing = [(label, each, one) for label, each, one, other in answers if one != other]
        if not differing or len(labels) != len(verified["examples"]):
            continue
        had, has = any(one for _, _, one, _ in answers), any(other for *_, other in answers)
        what = "changed" if had and has else "new" if has else "gone"
        reasons = [answer[1] for _, each, one in differing if (answer := refusal(each, after if one else before))]
        forms = tuple(f"{'gone' if one else 'new'}: {label}" for label, _, one in differing) if what == "changed" else ()
        found.append(Change(entry.id, entry.title, what, forms, "; ".join(dict.fromkeys(reasons))))
    return found


def _labels(entry: IsaRecord, root: Path) -> list[str]:
    try:
        return [form_label(example.text, mnemonics(entry)) for example in read_examples(root, root / entry.path)]
    except CorpusError:
        return []


def _accepts(each: dict, target: str) -> bool | None:
    if target in each["accepted"]:
        return True
    answer = refusal(each, target)
    return False if answer and answer[0] != "version" else None


def diff_text(before: str, after: str, changes: Sequence[Change]) -> str:
    """The changes as markdown, one section for new, gone and changed."""
    parts = [f"# From {before} to {after}"]
    for what, head in (("new", f"New on {after}"), ("gone", f"Gone on {after}"), ("changed", "Changed: other forms are accepted")):
        chosen = [change for change in changes if change.what == what]
        lines = [f"- `{c.id}` {c.title}{''.join(f'; {form}' for form in c.forms)}{f' ({c.why})' if c.why else ''}" for c in chosen]
        parts.append(f"## {head}: {len(chosen)}\n\n" + ("\n".join(lines) if lines else "None of the instructions here."))
    return "\n\n".join(parts)


def diff_json(before: str, after: str, changes: Sequence[Change]) -> dict[str, Any]:
    """The changes by kind."""
    rows = [{"id": c.id, "title": c.title, "what": c.what, "forms": list(c.forms), "why": c.why} for c in changes]
    return {"before": before, "after": after} | {what: [row for row in rows if row["what"] == what] for what in ("new", "gone", "changed")}

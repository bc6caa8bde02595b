"""Instructions looked up exactly, modifiers tolerated and explained, and what a GPU without them has instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from indexer.errors import CorpusError, InputError, nearest
from indexer.gpus import Gpu
from indexer.isa_examples import TARGET_VERSIONS, read_examples
from indexer.isa_glossary import Glossary
from indexer.records import IsaRecord
from retriever.applicability import Applicability, applicability
from retriever.isa_diff import gpu_target
from retriever.isa_executed import executed_json, executed_text
from retriever.isa_modifiers import explain, known_parts, load_glossary, mnemonics, modifiers_text, spelled
from retriever.isa_record import refusal
from retriever.isa_sass import forms, is_form
from retriever.isa_table import acceptance_text
from retriever.show import show_text

PREFIXES = "@%."
"""Before a guard, a special register, a directive or a state space."""


def look_up(name: str, entries: Sequence[IsaRecord], glossary: Glossary | None = None) -> IsaRecord:
    """The entry whose mnemonic is `name`; for a spelled-out instruction, the entry whose page has most of its modifiers.

    Raises:
        InputError: there is none; the nearest mnemonics are listed.
    """
    wanted = spelled(name).removeprefix("isa/").removesuffix(".md").rstrip(".").lower()
    ids = {entry.id.lower(): entry for entry in entries}
    if f"isa/{wanted}" in ids:
        return ids[f"isa/{wanted}"]
    known = _by_mnemonic(entries)
    last = wanted.split("/")[-1].replace("::", ".")
    bare = _bare(last)
    if found := known.get(last) or known.get(bare):
        return found
    form = spelled(name).split("/")[-1].lstrip(PREFIXES)
    begun = [(_bare(m), entry) for entry in entries for m in mnemonics(entry) if is_form(form.lower(), [_bare(m)])]
    if begun:
        # Pages that begin alike (mma.sync, mma.sync on fp8 ...) differ in the modifiers that they know; then the closer name wins.
        return max(
            begun, key=lambda pair: (known_parts(form, pair[1], glossary) if glossary else 0, _closeness(form, pair[0]), pair[1].id)
        )[1]
    parts = bare.split(".")
    for length in range(len(parts), 0, -1):
        if found := known.get(".".join(parts[:length])):
            return found
    if numbered := known.get(re.sub(r"\d+", "0", bare, count=1)):  # %envreg7 for %envreg0
        return numbered
    if begins := [entry for mnemonic, entry in sorted(known.items()) if bare and mnemonic.startswith(bare)]:
        return begins[0]
    raise InputError(f'no instruction "{name}"; nearest: {", ".join(nearest(last, list(known))) or "none"}. `warplore isa` lists all')


def _bare(mnemonic: str) -> str:
    """A mnemonic in lower case without the sign of a register, guard or directive."""
    return mnemonic.lower().lstrip(PREFIXES)


def _closeness(form: str, mnemonic: str) -> tuple[bool, int]:
    """A name that begins the instruction is closer than one whose parts stand apart in it, and a longer one than a shorter."""
    return form.startswith(mnemonic.lower()), mnemonic.count(".")


def is_glob(name: str) -> bool:
    """Whether a name stands for several instructions."""
    return any(sign in name for sign in "*?[")


def matching(pattern: str, entries: Sequence[IsaRecord]) -> list[IsaRecord]:
    """The entries with a mnemonic, file name or id that the glob matches, in id order.

    Raises:
        InputError: there is none.
    """
    wanted = pattern.strip().lower()
    found = [e for e in entries if any(fnmatchcase(name.lower(), wanted) for name in (*mnemonics(e), e.id.split("/")[-1], e.id))]
    if not found:
        close = nearest(re.sub(r"[*?\[\]]", "", wanted), list(_by_mnemonic(entries)))
        raise InputError(f'no instruction matches "{pattern}"; nearest: {", ".join(close) or "none"}. `warplore isa` lists all')
    return found


def _by_mnemonic(entries: Sequence[IsaRecord]) -> dict[str, IsaRecord]:
    """Entries by file name, further mnemonics, mnemonic, and mnemonic that is the file's name too, the later wins where several exist.

    Then the same names without their sign.
    """
    found: dict[str, IsaRecord] = {}
    for entry in entries:
        found.setdefault(entry.id.split("/")[-1].lower(), entry)
    for names in ((lambda e: e.also), (lambda e: (e.mnemonic,)), _named_after):
        for entry in entries:
            for mnemonic in names(entry):
                found[mnemonic.lower().replace("::", ".")] = entry
    return {_bare(name): entry for name, entry in found.items()} | found


def _named_after(entry: IsaRecord) -> tuple[str, ...]:
    return (entry.mnemonic,) if entry.mnemonic == entry.id.split("/")[-1] else ()


def verdict(entry: IsaRecord, gpu: Gpu | None, record: dict | None = None) -> Applicability:
    """Whether this GPU has the instruction; what the assemblers said for its target, in `record`, outweighs the page's head."""
    answer = applicability(entry.model_dump(mode="json") | {"id": entry.id, "kind": "isa"}, gpu)
    if gpu and answer.status == "runs" and (verified := (record or {}).get("entries", {}).get(entry.id)):
        target = _target(gpu)
        refusals = [refusal(each, target) for each in verified["examples"] if each["accepted"]] if target else []
        if refusals and all(answer and answer[0] != "version" for answer in refusals):
            return Applicability("never", f"refused for {target}: {refusals[0][1]}")  # type: ignore[index]  # all are given
    return answer


def _target(gpu: Gpu) -> str | None:
    try:
        return gpu_target(gpu)
    except InputError:
        return None


def refusals_for(entry: IsaRecord, gpu: Gpu, record: dict) -> list[str]:
    """What the assembler says for this GPU's target, of examples that are accepted elsewhere, each once."""
    target = _target(gpu)
    examples = record["entries"].get(entry.id, {}).get("examples", ()) if target else ()
    found = [answer for each in examples if each["accepted"] and (answer := refusal(each, target)) and answer[0] != "version"]  # type: ignore[arg-type]
    return list(dict.fromkeys(f"ptxas for {target} ({kind}): {message}" for kind, message in found))


def usable_instead(entry: IsaRecord, gpu: Gpu, entries: Sequence[IsaRecord], record: dict | None) -> list[str]:
    """Ids of the entry's neighbours that this GPU has."""
    return [other.id for other in entries if other.id in entry.instead and verdict(other, gpu, record).status == "runs"]


def isa_text(
    entry: IsaRecord, gpu: Gpu | None, root: Path, entries: Sequence[IsaRecord], record: dict | None = None, name: str = ""
) -> str:
    """The entry with its verdict for a GPU, the modifiers of a spelled-out `name`, and the assemblers' verdicts after the page."""
    lines = [f"PTX {entry.ptx}; {entry.targets}"]
    if gpu:
        answer = verdict(entry, gpu, record)
        lines.insert(0, f"**{gpu.name}: {'has it' if answer.status == 'runs' else answer.status}** ({answer.reason})")
        if answer.status == "never":
            usable = usable_instead(entry, gpu, entries, record)
            said = refusals_for(entry, gpu, record) if record else []
            lines[1:1] = [*said[:2], f"There use {', '.join(usable)}" if usable else "None of its neighbours exists there either."]
        elif record and (partly := refusals_for(entry, gpu, record)):
            lines.insert(1, f"Some forms are refused there: {'; '.join(partly[:3])}")
    if entry.instead:
        lines.append(f"Neighbours on other architectures: {', '.join(entry.instead)}")
    if is_spelled_out(name, entry):
        lines.append(modifiers_text(name, explain(name, entry, load_glossary(root))))
        lines += _form_verdict(name, entry, gpu, root, record)
    executed = executed_text(root, entry.id)
    return "\n\n".join((*lines, show_text(root, entry), *([executed] if executed else []), *_table(entry, root, record)))


def is_spelled_out(name: str, entry: IsaRecord) -> bool:
    """Whether a name has more parts than the entry's mnemonics and file name."""
    return (
        bool(name) and "/" not in name and spelled(name).lower() not in {*map(str.lower, mnemonics(entry)), entry.id.split("/")[-1].lower()}
    )


def _form_verdict(name: str, entry: IsaRecord, gpu: Gpu | None, root: Path, record: dict | None) -> list[str]:
    """What was answered to exactly this form, where an example has it."""
    verified = (record or {}).get("entries", {}).get(entry.id)
    target = _target(gpu) if gpu else None
    if not verified or not target:
        return []
    for example, each in zip(_examples(entry, root), verified["examples"]):
        if spelled(name) in forms(example.text, mnemonics(entry)):
            answer = refusal(each, target)
            return [f"In this form, {target}: {f'refused, {answer[1]}' if answer else 'accepted'}."]
    return []


def _examples(entry: IsaRecord, root: Path):
    try:
        return read_examples(root, root / entry.path)
    except CorpusError:
        return ()


def _table(entry: IsaRecord, root: Path, record: dict | None) -> list[str]:
    """The acceptance table, where the record is of the page as it stands."""
    verified = (record or {}).get("entries", {}).get(entry.id)
    examples = _examples(entry, root)
    if not record or not verified or len(examples) != len(verified["examples"]):
        return []
    return [acceptance_text(verified, examples, mnemonics(entry), record)]


def isa_list_text(entries: Sequence[IsaRecord], gpu: Gpu | None, record: dict | None = None) -> str:
    """Instructions as a table, with a verdict each when a GPU is named."""
    head = ["instruction", "id", "PTX", "targets", *([gpu.name] if gpu else [])]
    rows = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for entry in entries:
        names = ", ".join(f"`{name}`" for name in mnemonics(entry))
        cells = [names, entry.id, entry.ptx, entry.targets, *([verdict(entry, gpu, record).status] if gpu else [])]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def isa_json(
    entry: IsaRecord, gpu: Gpu | None, root: Path, record: dict | None = None, name: str = "", entries: Sequence[IsaRecord] = ()
) -> dict[str, Any]:
    """Front matter, page, verdict for the GPU with what to use instead, modifiers, and what the assemblers answered."""
    form = entry.model_dump(mode="json") | {"id": entry.id, "location": entry.location, "body": entry.body}
    answer = verdict(entry, gpu, record)
    never = gpu is not None and answer.status == "never"
    return form | {
        "applicability": {"status": answer.status, "reason": answer.reason},
        "refusals": refusals_for(entry, gpu, record) if gpu and record else [],
        "use_instead": usable_instead(entry, gpu, entries, record) if never and gpu else [],
        "modifiers": [asdict(m) for m in explain(name, entry, load_glossary(root))] if is_spelled_out(name, entry) else [],
        "targets_checked": list(TARGET_VERSIONS),
        "verified": (record or {}).get("entries", {}).get(entry.id),
        "executed": executed_json(root, entry.id),
    }

"""Instructions looked up exactly, modifiers tolerated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from indexer.errors import InputError, nearest
from indexer.gpus import Gpu
from indexer.records import IsaRecord
from retriever.applicability import Applicability, applicability
from retriever.show import show_text


def look_up(name: str, entries: list[IsaRecord]) -> IsaRecord:
    """The entry whose mnemonic is `name`, or the longest mnemonic that `name` starts with.

    Raises:
        InputError: there is none; the nearest mnemonics are listed.
    """
    wanted = name.strip().lower().removeprefix("isa/").lstrip("@%")
    parts = wanted.split("/")[-1].replace("::", ".").split(".")
    ids = {entry.id: entry for entry in entries}
    if f"isa/{wanted}" in ids:
        return ids[f"isa/{wanted}"]
    mnemonics = _by_mnemonic(entries)
    for length in range(len(parts), 0, -1):
        if found := mnemonics.get(".".join(parts[:length])):
            return found
    begins = [entry for mnemonic, entry in sorted(mnemonics.items()) if mnemonic.startswith(wanted)]
    if begins:
        return begins[0]
    raise InputError(f'no instruction "{name}"; nearest: {", ".join(nearest(wanted, list(mnemonics))) or "none"}. `warplore isa` lists all')


def _by_mnemonic(entries: list[IsaRecord]) -> dict[str, IsaRecord]:
    """Entries by mnemonic and by file name; the mnemonic wins where both exist."""
    found: dict[str, IsaRecord] = {}
    for entry in entries:
        found.setdefault(entry.id.split("/")[-1].lower(), entry)
    for entry in entries:
        found[entry.mnemonic.lower().replace("::", ".")] = entry
    return found


def verdict(entry: IsaRecord, gpu: Gpu | None) -> Applicability:
    """Whether this GPU has the instruction."""
    return applicability(entry.model_dump(mode="json") | {"id": entry.id, "kind": "isa"}, gpu)


def isa_text(entry: IsaRecord, gpu: Gpu | None, root: Path, entries: list[IsaRecord]) -> str:
    """The entry with its verdict for a GPU and, where that lacks it, which of its neighbours among `entries` to use instead."""
    lines = [f"PTX {entry.ptx}; {entry.targets}"]
    if gpu:
        answer = verdict(entry, gpu)
        lines.insert(0, f"**{gpu.name}: {'has it' if answer.status == 'runs' else answer.status}** ({answer.reason})")
        usable = [other.id for other in entries if other.id in entry.instead and verdict(other, gpu).status == "runs"]
        if answer.status == "never":
            lines.insert(1, f"There use {', '.join(usable)}" if usable else "None of its neighbours exists there either.")
    if entry.instead:
        lines.append(f"Neighbours on other architectures: {', '.join(entry.instead)}")
    return "\n\n".join((*lines, show_text(root, entry)))


def isa_list_text(entries: list[IsaRecord], gpu: Gpu | None) -> str:
    """All instructions as a table, with a verdict each when a GPU is named."""
    head = ["instruction", "id", "PTX", "targets", *([gpu.name] if gpu else [])]
    rows = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for entry in entries:
        cells = [f"`{entry.mnemonic}`", entry.id, entry.ptx, entry.targets, *([verdict(entry, gpu).status] if gpu else [])]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def isa_json(entry: IsaRecord, gpu: Gpu | None, root: Path) -> dict[str, Any]:
    """Front matter, page, verdict for the GPU, and what the assembler answered."""
    form = entry.model_dump(mode="json") | {"id": entry.id, "location": entry.location, "body": entry.body}
    path = root / "isa" / "verified.json"
    verified = json.loads(path.read_text(encoding="utf-8"))["entries"].get(entry.id) if path.is_file() else None
    answer = verdict(entry, gpu)
    return form | {"applicability": {"status": answer.status, "reason": answer.reason}, "verified": verified}

"""What an implementation or an attempt can show for itself: validation records by GPU, and what it compiled for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from indexer.records import AttemptRecord, ZooRecord
from kernel_wiki.harness.discover import COMPILE_FOLDER, Entry, attempt_entry, entry_hashes

_KEPT = ("verdict", "stage", "category", "hint", "date", "timings", "ceilings", "resources", "ncu", "toolchain")


def zoo_evidence(root: Path, record: ZooRecord) -> dict[str, Any]:
    """What was proved of an implementation, or measured of an attempt.

    Returns:
        `{"validations": [...], "compiled": {target: {"ok", "smem_bytes", "registers", "spill_bytes"}}}`. A validation holds the
        record's main parts, `gpu_facts`, and `fresh`: False when a source changed since. A stale compile record is left out.
    """
    entry = _entry(root, record)
    hashes = entry_hashes(entry)
    validations, compiled = [], {}
    for path in sorted((entry.folder / "validation").glob(f"*/{entry.name}.json")):
        body = json.loads(path.read_text(encoding="utf-8"))
        fresh = body.get("hashes") == hashes
        if path.parent.name == COMPILE_FOLDER:
            compiled = {name: _widest(target) for name, target in body["targets"].items()} if fresh else {}
            continue
        kept = {key: body[key] for key in _KEPT if key in body}
        where = path.relative_to(root).as_posix()
        validations.append({"gpu": path.parent.name, "path": where, "fresh": fresh, "gpu_facts": body.get("gpu", {}), **kept})
    return {"validations": validations, "compiled": compiled}


def _entry(root: Path, record: ZooRecord) -> Entry:
    page = root / record.path
    if isinstance(record, AttemptRecord):
        return attempt_entry(page.parent.name, page.stem, root / "kernel_wiki" / "zoo")
    return Entry(page.parent.name, page.stem, page.parent)


def _widest(target: dict[str, Any]) -> dict[str, Any]:
    """A target's verdict with the largest need of any of its kernels."""
    kernels = target.get("kernels", {}).values()
    needs = {key: max((kernel.get(key) or 0 for kernel in kernels), default=0) for key in ("smem_bytes", "registers", "spill_bytes")}
    return {"ok": target["ok"], **needs}

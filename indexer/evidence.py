"""What a zoo implementation can show for itself: validation records by GPU, and what it compiled for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from indexer.records import ZooRecord
from kernel_wiki.harness.discover import COMPILE_FOLDER, source_hashes

_KEPT = ("verdict", "date", "timings", "ceilings", "resources", "ncu", "toolchain")


def zoo_evidence(root: Path, record: ZooRecord) -> dict[str, Any]:
    """What was proved of an implementation.

    Returns:
        `{"validations": [...], "compiled": {target: {"ok", "smem_bytes", "registers", "spill_bytes"}}}`. A validation holds the
        record's main parts, `gpu_facts`, and `fresh`: False when a source changed since. A stale compile record is left out.
    """
    page = root / record.path
    operator, impl, zoo = page.parent.name, page.stem, page.parent.parent
    hashes = source_hashes(operator, impl, zoo)
    validations, compiled = [], {}
    for path in sorted((page.parent / "validation").glob(f"*/{impl}.json")):
        body = json.loads(path.read_text(encoding="utf-8"))
        fresh = body.get("hashes") == hashes
        if path.parent.name == COMPILE_FOLDER:
            compiled = {name: _widest(target) for name, target in body["targets"].items()} if fresh else {}
            continue
        kept = {key: body[key] for key in _KEPT if key in body}
        where = path.relative_to(root).as_posix()
        validations.append({"gpu": path.parent.name, "path": where, "fresh": fresh, "gpu_facts": body.get("gpu", {}), **kept})
    return {"validations": validations, "compiled": compiled}


def _widest(target: dict[str, Any]) -> dict[str, Any]:
    """A target's verdict with the largest need of any of its kernels."""
    kernels = target.get("kernels", {}).values()
    needs = {key: max((kernel.get(key) or 0 for kernel in kernels), default=0) for key in ("smem_bytes", "registers", "spill_bytes")}
    return {"ok": target["ok"], **needs}

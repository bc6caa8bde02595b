"""A GPU named in the middle of a sentence."""

from __future__ import annotations

import re

from indexer.gpus import Gpu, GpuTable, resolve_gpu


def gpu_in_text(text: str, table: GpuTable) -> Gpu | None:
    """The first GPU that `text` names by product or as `sm_90`, the longest name winning; None when it names none."""
    best: tuple[int, int, str] | None = None
    for product in table.gpus.values():
        for name in (product.name, *product.aliases):
            if not re.search(r"\d", name) or len(name) < 2 or re.fullmatch(r"[\d.]+", name):
                continue
            pattern = re.escape(name.lower()).replace(r"\ ", r"[\s\-]?").replace(r"\-", r"[\s\-]?")
            if (match := re.search(rf"(?<![a-z0-9_.]){pattern}(?![a-z0-9_])", text.lower())) and (
                best is None or (match.start(), -len(match[0])) < best[:2]
            ):
                best = (match.start(), -len(match[0]), name)
    if best:
        return resolve_gpu(best[2], table)
    if (
        match := re.search(r"\b(?:sm|compute)_?(\d{2,3})[af]?\b", text.lower())
    ) and f"{match[1][:-1]}.{match[1][-1]}" in table.compute_capabilities:
        return resolve_gpu(match[0], table)
    return None

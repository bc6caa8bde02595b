"""Triton's own metadata of a compiled kernel: the .json beside the cubin in its cache, or the object printed from Python."""

from __future__ import annotations

import ast
from typing import Any

from retriever.reports.profile import Metric, Profile
from retriever.reports.weak_form import FORM, capability_of

MARKS = ("num_warps", "num_stages", "shared")
"""Keys that every version writes."""
MAX_PRINTED = 2**20  # characters; the metadata of a kernel has some thousands
WARP = 32  # threads, where the target does not say


def is_metadata(found: Any) -> bool:
    """Whether a parsed JSON text, or what `printed` made of one, is the metadata of a kernel."""
    return isinstance(found, dict) and all(key in found for key in MARKS)


def printed(text: str) -> Any:
    """What Python printed, a dict or `KernelMetadata(...)`, read as syntax and never executed; None for anything else.

    Calls such as `GPUTarget(...)` become dicts of their keywords.
    """
    if len(text) > MAX_PRINTED or not text.lstrip().startswith(("{", "KernelMetadata(")):
        return None
    try:
        return _plain(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def _plain(node: ast.expr) -> Any:
    if isinstance(node, ast.Call):
        return {word.arg: _plain(word.value) for word in node.keywords if word.arg}
    if isinstance(node, ast.Dict):
        return {_plain(key): _plain(value) for key, value in zip(node.keys, node.values) if key is not None}
    if isinstance(node, ast.List | ast.Tuple):
        return [_plain(item) for item in node.elts]
    return ast.literal_eval(node)


def triton_profile(found: dict[str, Any]) -> Profile:
    """The profile of one kernel: block, shared memory, and registers where the binary was loaded before printing.

    Triton asks for all shared memory at launch, so it is dynamic. `n_spills` is local memory per thread in words of four bytes, which
    holds arrays that are indexed at run time as well.
    """
    target = found.get("target") if isinstance(found.get("target"), dict) else {}
    arch = str(target.get("arch") or found.get("arch") or "")
    warp = target.get("warp_size") or WARP
    warps = found["num_warps"]
    numbers = {
        "launch__registers_per_thread": (found.get("n_regs"), "register/thread"),
        "launch__shared_mem_per_block_dynamic": (found.get("shared"), "byte/block"),
        "launch__shared_mem_per_block_static": (0, "byte/block"),
        "triton__n_spills": (found.get("n_spills"), "word/thread"),
        "triton__num_stages": (found.get("num_stages"), ""),
        "triton__num_ctas": (found.get("num_ctas"), ""),
    }
    return Profile(
        kernel=str(found.get("name") or "triton kernel"),
        block=(int(warps * warp), 1, 1) if isinstance(warps, int) and isinstance(warp, int) else None,
        compute_capability=capability_of(arch if arch.startswith("sm") else f"sm_{arch}"),
        metrics={name: Metric(float(value), unit, "1:1") for name, (value, unit) in numbers.items() if isinstance(value, int | float)},
        attributes={FORM: "Triton's kernel metadata"},
        location="1:1",
    )

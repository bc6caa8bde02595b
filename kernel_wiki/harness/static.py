"""What reading is enough for: syntax, the entry point, forbidden imports, and the needs of a kernel against the limits of a GPU.

Nothing here imports or runs a candidate.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import discover
from .discover import Entry
from .findings import Finding, from_exception

WARP = 32
REGISTER_GRANULE = 8
"""Registers are given to a thread in units of this (CUDA C++ Best Practices Guide, occupancy)."""
FORBIDDEN_IMPORTS = re.compile(r"^(kernel_wiki\.zoo|contract$|.*\.contract$|kernel_wiki\.harness$|kernel_wiki\.harness\.)")
ALLOWED_IMPORTS = re.compile(r"^kernel_wiki\.harness\.(contract|cuda)\b")
"""The zoo's contracts hold references and baselines; of the harness a candidate needs the specs and limits, and the launching."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a GPU has, as far as it can refuse a kernel before it runs."""

    name: str
    capability: str
    """"9.0"."""
    features: frozenset[str]
    """Hardware features of the vocabulary."""
    max_threads_per_block: int
    smem_per_block_bytes: int
    """That one block may opt in to."""
    registers_per_thread: int
    registers_per_block: int
    max_cluster: int


def check(entry: Entry, limits: Limits | None = None) -> Finding | None:
    """A rejection that needs no run, else None.

    Args:
        limits: also compare the page's requirements and the compile record's resources with this GPU.
    """
    return _source(entry) or (_fits(entry, limits) if limits else None)


def _source(entry: Entry) -> Finding | None:
    try:
        tree = ast.parse(entry.source.read_text(encoding="utf-8"), entry.source.name)
    except OSError as error:
        return Finding("static", "symbol", f"{entry.source.name} cannot be read: {error.strerror}")
    except (SyntaxError, ValueError) as error:
        return from_exception(error if isinstance(error, SyntaxError) else SyntaxError(str(error)), "static", entry.source)
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    names |= {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets if isinstance(target, ast.Name)}
    names |= {alias.asname or alias.name for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names}
    if "run" not in names:
        hint = f'{entry.source.name} has no function "run"; the contract asks for one'
        return Finding("static", "symbol", hint, f"{entry.source.name}:1")
    for node in ast.walk(tree):
        if name := _forbidden(node, entry.operator):
            hint = f"imports {name}: a candidate may not reach the reference, the baselines or the judge"
            return Finding("static", "cheat", hint, f"{entry.source.name}:{node.lineno}")
    return None


def _forbidden(node: ast.AST, operator: str) -> str | None:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.level:
        names = ["kernel_wiki.zoo"]
    elif isinstance(node, ast.ImportFrom):
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        names += [node.module] if node.module != "kernel_wiki.harness" else []  # of which the parts count
    else:
        return None
    return next((name for name in names if FORBIDDEN_IMPORTS.match(name) and not ALLOWED_IMPORTS.match(name)), None)


def _fits(entry: Entry, limits: Limits) -> Finding | None:
    """Features first: an instruction that the GPU lacks decides more than a number does."""
    page = entry.folder / f"{entry.name}.md"
    where = f"{page.name}:1"
    lacking = [name for name in discover.front_list(entry, "requires") if name not in limits.features]
    if lacking:
        hint = f"needs {', '.join(lacking)}, which {limits.name} (compute capability {limits.capability}) lacks"
        return Finding("static", "resource", hint, where, expected=", ".join(lacking), actual="not on this GPU")
    least = discover.front_value(entry, "sm_min")
    if least and least.isdigit() and int(least) > int(limits.capability.replace(".", "")):
        hint = f"needs compute capability {int(least) / 10:.1f}; {limits.name} has {limits.capability}"
        return Finding("static", "resource", hint, where, expected=f">= {int(least) / 10:.1f}", actual=limits.capability)
    return next((finding for kernel, needs in _needs(entry, limits).items() if (finding := _over(kernel, needs, limits))), None)


def _over(kernel: str, needs: dict[str, int], limits: Limits) -> Finding | None:
    """The first need of a kernel that a limit refuses."""
    threads, registers = needs.get("threads", 0), needs["registers"]
    granted = -(-registers // REGISTER_GRANULE) * REGISTER_GRANULE * (-(-threads // WARP) * WARP)
    for what, need, limit in (
        ("threads a block", threads, limits.max_threads_per_block),
        ("bytes of shared memory a block", needs["smem_bytes"], limits.smem_per_block_bytes),
        ("registers a thread", registers, limits.registers_per_thread),
        ("registers a block", granted, limits.registers_per_block),
        ("blocks a cluster", needs.get("cluster", 1), limits.max_cluster),
    ):
        if need > limit:
            hint = f"{kernel} needs {need} {what}; {limits.name} allows {limit}"
            return Finding("static", "resource", hint, kernel, expected=f"<= {limit}", actual=str(need))
    return None


def _needs(entry: Entry, limits: Limits) -> dict[str, dict[str, Any]]:
    """Kernel name to registers, shared memory and threads from the fresh compile record of the nearest target; empty without one."""
    path = discover.record_path(entry.operator, entry.name, discover.COMPILE_FOLDER, entry.folder.parent)
    if entry.contract is not None or not path.exists():
        return {}
    compiled = json.loads(path.read_text(encoding="utf-8"))
    if compiled["hashes"] != discover.entry_hashes(entry):
        return {}
    targets = compiled["targets"]
    plain = f"sm_{limits.capability.replace('.', '')}"
    below = [name for name in targets if _number(name) <= _number(plain) and not name.endswith(("a", "f"))]
    chosen = next((name for name in (f"{plain}a", plain) if name in targets), max(below, key=_number, default=None))
    return targets[chosen]["kernels"] if chosen else {}


def _number(target: str) -> int:
    return int(re.sub(r"\D", "", target))


def expected_rejection(source: Path) -> tuple[str, str] | None:
    """The `REJECTED_AS = (stage, category)` of a wrong variant, read without importing it; from the text where it does not parse."""
    match = re.search(r'^REJECTED_AS = \("([\w-]+)", "([\w-]+)"\)', source.read_text(encoding="utf-8"), re.MULTILINE)
    return (match[1], match[2]) if match else None

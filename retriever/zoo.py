"""The zoo as a table, and what of it would run on a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexer.errors import InputError, did_you_mean
from indexer.evidence import zoo_evidence
from indexer.gpus import Gpu
from indexer.records import ZooRecord
from kernel_wiki.harness import discover
from retriever.applicability import Applicability, applicability
from retriever.evidence import LEVELS, Evidence, evidence
from retriever.render import rate

if TYPE_CHECKING:
    from kernel_wiki.harness.static import Limits
    from retriever.service import Warplore

MAX_THREADS_PER_BLOCK = 1024
"""Of every compute capability in gpus.yaml (CUDA C++ Programming Guide, technical specifications per compute capability)."""
MAX_CLUSTER_BLOCKS = 16
"""With the non-portable attribute; 8 without (CUDA C++ Programming Guide, thread block clusters)."""


def zoo_folder(core: Warplore) -> Path:
    """Where the corpus keeps its implementations."""
    return core.root / "kernel_wiki" / "zoo"


def known_operator(core: Warplore, name: str) -> str:
    """The operator that `name` means, with or without `zoo/` in front.

    Raises:
        InputError: the zoo has none of that name.
    """
    operator, known = name.removeprefix("zoo/").strip("/"), discover.operators(zoo_folder(core))
    if operator not in known:
        raise InputError(f'no operator "{name}"{did_you_mean(operator, known) or ";"} there are: {", ".join(known) or "none"}')
    return operator


def zoo_rows(core: Warplore, gpu: Gpu | None) -> list[dict[str, Any]]:
    """One row an implementation, in id order."""
    rows = []
    for record, proof, usable in _judged(core, gpu):
        timings = (proof.validation or {}).get("timings", [])
        best = max(timings, key=lambda timing: timing.get("share_of_ceiling") or 0.0, default=None)
        rows.append(
            {
                "id": record.id,
                "title": record.title,
                "languages": list(record.languages),
                "targets": list(record.targets),
                "rate": rate(best, proof.validation) if best and proof.validation else None,
                "share": f"{100 * best['share_of_ceiling']:.0f} %" if best else None,
                "evidence": proof.text,
                "applicability": {"status": usable.status, "reason": usable.reason},
            }
        )
    return rows


def nearest_runnable(core: Warplore, operator: str, gpu: Gpu, other_than: str = "") -> str | None:
    """Id of the implementation of `operator` that runs on `gpu` as it stands, the best proved one first, then the fastest; or None."""
    fitting = [
        (LEVELS.index(proof.level), -_best_share(proof), record.id)
        for record, proof, usable in _judged(core, gpu)
        if usable.status == "runs" and record.id.startswith(f"zoo/{operator}/") and record.id != other_than
    ]
    return min(fitting)[2] if fitting else None


def limits_from(gpu: Gpu) -> Limits:
    """What the static checks compare a source with, from the GPU table."""
    from kernel_wiki.harness.static import Limits

    capability = gpu.capability
    return Limits(
        name=gpu.name,
        capability=gpu.compute_capability,
        features=gpu.features,
        max_threads_per_block=MAX_THREADS_PER_BLOCK,
        smem_per_block_bytes=capability.smem_per_block_bytes,
        registers_per_thread=capability.registers_per_thread,
        registers_per_block=capability.registers_per_sm,  # the two are the same on every capability of the table
        max_cluster=MAX_CLUSTER_BLOCKS if "clusters" in gpu.features else 1,
    )


def _judged(core: Warplore, gpu: Gpu | None) -> list[tuple[ZooRecord, Evidence, Applicability]]:
    """Every implementation with what proves it for that GPU and whether it runs there."""
    found = []
    for record in core.entries("zoo"):
        if isinstance(record, ZooRecord):
            entry = record.model_dump(mode="json") | {"id": record.id, "kind": "zoo", "evidence": zoo_evidence(core.root, record)}
            found.append((record, evidence(entry, gpu), applicability(entry, gpu)))
    return found


def _best_share(proof: Evidence) -> float:
    timings = (proof.validation or {}).get("timings", [])
    return max((timing.get("share_of_ceiling") or 0.0 for timing in timings), default=0.0)

"""How far a record's claim was proved, for this GPU, in words and as a rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from indexer.gpus import Gpu
from retriever.applicability import target_for


@dataclass(frozen=True, slots=True)
class Evidence:
    """What stands behind a record."""

    level: str
    """One of LEVELS."""
    text: str
    """In words, with GPU and date."""
    validation: dict[str, Any] | None = None
    """The validation record that says so, for a zoo entry."""


LEVELS = ("validated-here", "validated-sibling", "validated-elsewhere", "assembled", "compiled", "stated", "none")
"""From strongest to weakest."""


def evidence(record: dict[str, Any], gpu: Gpu | None) -> Evidence:
    """The strongest evidence that `record` has for `gpu`."""
    if record["kind"] == "zoo":
        return _zoo(record, gpu)
    if record["kind"] == "isa":
        return Evidence("assembled", "example assembled with ptxas") if record.get("verified") else Evidence("stated", "from the ISA text")
    if record["kind"] == "pr":
        figures = record.get("figures", ())
        text = "figures stated by its authors" if figures else "merged; no figures stated"
        fate = record.get("fate", {}).get("status", "unknown")
        return Evidence("stated", text if fate in ("live", "unknown") else f"{text}; later {fate}")
    sources = record.get("sources", ())
    return Evidence("stated", f"{len(sources)} sources") if sources else Evidence("none", "no source")


def _zoo(record: dict[str, Any], gpu: Gpu | None) -> Evidence:
    found = record.get("evidence", {})
    accepted = [v for v in found.get("validations", ()) if v.get("verdict") == "accepted" and v.get("fresh")]
    if accepted:
        ranked = sorted(accepted, key=lambda v: (_distance(v, gpu), v["gpu"]))
        best, distance = ranked[0], _distance(ranked[0], gpu)
        name = best["gpu_facts"].get("name", best["gpu"])
        text = f"validated on {name}, {str(best.get('date', ''))[:10]}"
        if distance == 1:
            text += f" (same compute capability as {gpu.name})" if gpu else ""
        return Evidence(LEVELS[distance], text, best)
    target = target_for(found.get("compiled", {}), record.get("targets", ()), gpu) if gpu else next(iter(found.get("compiled", {})), None)
    if target and found.get("compiled", {}).get(target, {}).get("ok"):
        return Evidence("compiled", f"compiled for {target}, not run")
    return Evidence("none", "neither compiled nor run")


def zoo_evidence_for(found: dict[str, Any]) -> list[Evidence]:
    """One Evidence for each GPU that accepted the implementation, stale ones said to be so; one without any when none did."""
    proofs = [
        Evidence(
            "validated-here" if v.get("fresh") else "none",
            f"validated on {v['gpu_facts'].get('name', v['gpu'])}, {str(v.get('date', ''))[:10]}"
            + ("" if v.get("fresh") else "; STALE: the source changed since"),
            v,
        )
        for v in found.get("validations", ())
        if v.get("verdict") == "accepted"
    ]
    return proofs or [Evidence("none", "not run on a GPU yet")]


def _distance(validation: dict[str, Any], gpu: Gpu | None) -> int:
    """0 the same product, 1 the same compute capability, 2 another one."""
    facts = validation["gpu_facts"]
    if gpu is None:
        return 0
    if gpu.product and facts.get("name", "").lower() in {gpu.product.name.lower(), *(alias.lower() for alias in gpu.product.aliases)}:
        return 0
    return 1 if facts.get("capability") == gpu.compute_capability else 2

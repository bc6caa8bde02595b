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
    """The validation record that says so, for an implementation or an attempt."""


LEVELS = ("validated-here", "validated-sibling", "validated-elsewhere", "assembled", "compiled", "measured-slower", "stated", "none")
"""From strongest to weakest; `measured-slower` is an attempt that a GPU found right and no faster than its parent."""
UNMEASURED = "not measured yet"


def evidence(record: dict[str, Any], gpu: Gpu | None) -> Evidence:
    """The strongest evidence that `record` has for `gpu`."""
    if record["kind"] == "zoo":
        return _zoo(record, gpu)
    if record["kind"] == "attempt":
        return _attempt(record, gpu)
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


def _attempt(record: dict[str, Any], gpu: Gpu | None) -> Evidence:
    measured = [v for v in record.get("evidence", {}).get("validations", ()) if v.get("fresh") and is_slower(v)]
    if not measured:
        return Evidence("none", UNMEASURED)
    best = min(measured, key=lambda v: (_distance(v, gpu), v["gpu"]))
    return Evidence("measured-slower", loss_text(best, record["parent"]), best)


def is_slower(validation: dict[str, Any]) -> bool:
    """Whether a record says what an attempt's must: right, timed, and no faster than its parent."""
    return (validation.get("verdict"), validation.get("stage"), validation.get("category")) == ("rejected", "measure", "slower")


def loss_text(validation: dict[str, Any], parent: str) -> str:
    """By how much it lost, over the timed cases: `measured on NVIDIA H200, 2026-11-29: 1.05x to 1.31x slower than zoo/...`."""
    where = f"measured on {validation['gpu_facts'].get('name', validation['gpu'])}, {str(validation.get('date', ''))[:10]}"
    against = [(timing.get("baselines", {}).get(parent) or {}).get("speedup") for timing in validation.get("timings", ())]
    losses = sorted(round(1 / speedup, 2) for speedup in against if speedup)
    if not losses or losses[-1] <= 1:
        return f"{where}: no faster than {parent}"
    if losses[0] == losses[-1]:
        return f"{where}: {losses[0]:.2f}x slower than {parent}"
    return f"{where}: {f'{losses[0]:.2f}x' if losses[0] > 1 else 'up'} to {losses[-1]:.2f}x slower than {parent}"


def attempt_evidence_for(found: dict[str, Any], parent: str) -> list[Evidence]:
    """One Evidence for each GPU that measured the attempt, whatever it found; one without any when none did."""
    proofs = []
    for v in found.get("validations", ()):
        name = v["gpu_facts"].get("name", v["gpu"])
        text = loss_text(v, parent) if is_slower(v) else f"{v.get('verdict')} on {name}, {str(v.get('date', ''))[:10]}"
        stale = "" if v.get("fresh") else "; STALE: the source changed since"
        proofs.append(Evidence("measured-slower" if v.get("fresh") and is_slower(v) else "none", text + stale, v))
    return proofs or [Evidence("none", UNMEASURED)]


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

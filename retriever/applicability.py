"""May this record's advice be used on this GPU: it runs, it runs after a named change, or never; and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from indexer.gpus import Gpu

Status = Literal["runs", "adapt", "never", "unknown"]


@dataclass(frozen=True, slots=True)
class Applicability:
    """A verdict with its reason in words."""

    status: Status
    """`unknown` when no GPU was named."""
    reason: str


def applicability(record: dict[str, Any], gpu: Gpu | None) -> Applicability:
    """The verdict for an index record on `gpu`.

    A missing feature is `adapt` only when the record itself names a fallback that this GPU has; an instruction exists or does not.
    """
    if gpu is None:
        return Applicability("unknown", "no GPU was named")
    requires = record.get("requires", ())
    missing = [feature for feature in requires if feature not in gpu.features]
    sm_min = record.get("sm_min")
    if record["kind"] == "isa" and (missing or (sm_min and gpu.sm < sm_min)):
        return Applicability(
            "never", f"{record.get('mnemonic', record['id'])} exists on {record.get('targets')}; {gpu.name} is sm_{gpu.sm}"
        )
    fallbacks = [_fallback(record, feature, gpu) for feature in missing]
    if missing and all(fallbacks):
        return Applicability("adapt", f"{gpu.name} lacks {', '.join(missing)}: {' '.join(how for how in fallbacks if how)}")
    if missing:
        return Applicability("never", f"needs {', '.join(missing)}, which {gpu.name} (sm_{gpu.sm}) lacks")
    if sm_min and gpu.sm < sm_min:
        return Applicability("never", f"needs sm_{sm_min} or later; {gpu.name} is sm_{gpu.sm}")
    if record["kind"] == "zoo":
        return _zoo(record, gpu)
    return Applicability(
        "runs", f"needs {', '.join(requires)}, which {gpu.name} has" if requires else f"nothing in it is missing on {gpu.name}"
    )


def _fallback(record: dict[str, Any], feature: str, gpu: Gpu) -> str | None:
    for fallback in record.get("fallbacks", ()):
        if fallback["instead_of"] == feature and all(use in gpu.features for use in fallback.get("use", ())):
            return fallback["how"].rstrip(".") + "."
    return None


def _zoo(record: dict[str, Any], gpu: Gpu) -> Applicability:
    """An implementation must also have compiled for this GPU's architecture, within its shared memory."""
    compiled = record.get("evidence", {}).get("compiled", {})
    target = target_for(compiled, record.get("targets", ()), gpu)
    if target is None:
        return Applicability("adapt", f"built for {', '.join(record.get('targets', ()))}; build it for sm_{gpu.sm} and validate it there")
    smem = (compiled.get(target) or {}).get("smem_bytes")
    limit = gpu.capability.smem_per_block_bytes
    if smem and smem > limit:
        return Applicability(
            "adapt", f"takes {smem:,} bytes of shared memory a block; {gpu.name} gives {limit:,}: use smaller tiles or fewer stages"
        )
    return Applicability("runs", f"builds for {target}" + (f", {smem:,} of {limit:,} bytes of shared memory" if smem else ""))


def target_for(compiled: dict[str, Any], targets: tuple[str, ...] | list[str], gpu: Gpu) -> str | None:
    """The target among those built that runs on `gpu`: its own, else the nearest older plain one; None when there is none.

    Targets with an `a` suffix run on that compute capability only. A target that failed to compile does not count.
    """
    built = [name for name in targets if (compiled.get(name) or {"ok": True}).get("ok", True)]
    own = [name for name in built if name in (f"sm_{gpu.sm}", f"sm_{gpu.sm}a")]
    if own:
        return max(own)
    plain = [int(name[3:]) for name in built if name[3:].isdigit() and int(name[3:]) <= gpu.sm]
    return f"sm_{max(plain)}" if plain else None

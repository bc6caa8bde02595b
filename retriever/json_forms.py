"""The JSON of every command, as plain dictionaries. Others build on it: a change of shape raises SCHEMA."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from indexer.gpus import Gpu
from retriever.diagnosis import NO_USABLE_DATA, Diagnosis
from retriever.hot_lines import hot_lines_json
from retriever.inputs import maker_name, reading_gpu
from retriever.pack import Pack
from retriever.rank import Hit, Ranking
from retriever.reports.profile import Profile, Report
from retriever.situation import Situation
from retriever.weak_facts import weak_json

if TYPE_CHECKING:  # only `diagnose` needs them
    from retriever.compare import Comparison, LaunchComparison
    from retriever.plan import Plan

SCHEMA = 1


def gpu_json(gpu: Gpu) -> dict[str, Any]:
    """A resolved GPU with its product's and its capability's facts; unknown values are null."""
    product = gpu.product.model_dump(mode="json") if gpu.product else None
    return {
        "id": gpu.id,
        "name": gpu.name,
        "asked": gpu.asked,
        "compute_capability": gpu.compute_capability,
        "product": product,
        "capability": gpu.capability.model_dump(mode="json"),
    }


def situation_json(situation: Situation) -> dict[str, Any]:
    """What was understood and from where."""
    gpu = situation.gpu
    return {
        "ask": situation.ask,
        "readings": [asdict(reading) for reading in situation.readings],
        "kernel": asdict(situation.kernel) if situation.kernel else None,
        "gpu": {"id": gpu.id, "name": gpu.name, "compute_capability": gpu.compute_capability, "from": situation.gpu_source}
        if gpu
        else None,
        "notes": list(situation.notes),
    }


def diagnosis_json(diagnosis: Diagnosis, profile: Profile | None = None, gpu: Gpu | None = None) -> dict[str, Any]:
    """One kernel's bottlenecks with their evidence, what is missing and what to collect next; `gpu` is what it was made on."""
    maker = maker_name(profile, gpu) if profile else gpu.name if gpu else None
    form: dict[str, Any] = {
        "name": diagnosis.kernel,
        "gpu": maker if gpu else None,
        "gpu_note": diagnosis.gpu_note or None,
        "bottlenecks": [
            {
                "id": bottleneck.id,
                "severity": round(bottleneck.severity, 1),
                "bound": bottleneck.bound or None,
                "limit": bottleneck.limit,
                "roof": bottleneck.is_roof,
                "weak": bottleneck.weak,
                "because_of": bottleneck.because_of or None,
                "open_causes": list(bottleneck.open_causes),
                "evidence": [asdict(piece) for piece in bottleneck.evidence],
                "guide": bottleneck.guide,
                "cures": list(bottleneck.cures),
            }
            for bottleneck in diagnosis.bottlenecks
        ],
        "missing": [
            {
                "bottleneck": item.bottleneck,
                "guide": item.guide,
                "metrics": list(item.metrics),
                "evidence": [asdict(piece) for piece in item.evidence],
            }
            for item in diagnosis.missing
        ],
        "provisional": diagnosis.is_provisional,
        "busiest": {"unit": diagnosis.busiest[0], "percent": diagnosis.busiest[1]} if diagnosis.busiest else None,
        "collect_next": diagnosis.collect_next,
    }
    if profile:
        if any(bottleneck.id == NO_USABLE_DATA for bottleneck in diagnosis.bottlenecks):
            form["read"] = {name: {"value": metric.value, "unit": metric.unit} for name, metric in profile.metrics.items()}
        form |= {"grid": profile.grid, "block": profile.block, "compute_capability": profile.compute_capability}
        form["hot_lines"] = hot_lines_json(profile)
        form |= weak_json(profile, reading_gpu(profile, gpu))
    return form


def plan_json(plan: Plan) -> dict[str, Any]:
    """What to collect, and the commands."""
    return asdict(plan)


def diagnose_json(report: Report, kernels: list[dict[str, Any]]) -> dict[str, Any]:
    """The answer of `diagnose`; its notes begin with what contradicts the GPU that was named."""
    notes = [*dict.fromkeys(kernel["gpu_note"] for kernel in kernels if kernel["gpu_note"]), *report.notes]
    return {"schema": SCHEMA, "source": report.source, "layout": report.layout, "kernels": kernels, "notes": notes}


def comparison_json(before: Report, after: Report, comparison: Comparison) -> dict[str, Any]:
    """The answer of `diagnose A --vs B`."""
    return {
        "schema": SCHEMA,
        "before": before.source,
        "after": after.source,
        "launches": [_launch_json(launch) for launch in comparison.launches],
        "only_before": [{"name": p.kernel, "grid": p.grid, "block": p.block} for p in comparison.only_before],
        "only_after": [{"name": p.kernel, "grid": p.grid, "block": p.block} for p in comparison.only_after],
        "notes": [f"{report.source}: {note}" for report in (before, after) for note in report.notes],
    }


def _launch_json(launch: LaunchComparison) -> dict[str, Any]:
    times = launch.times
    ratios = {"speedup": times.speedup, "speedup_in_cycles": times.speedup_in_cycles, "equal_clocks": times.equal_clocks}
    return {
        "name": launch.before.kernel,
        "name_after": launch.after.kernel,
        "matched_by": launch.how,
        "time": asdict(times) | ratios,
        "bottlenecks": [asdict(fate) for fate in launch.fates],
        "pointers": [_finite(asdict(pointer)) for pointer in launch.pointers],
        "moved": [_finite(asdict(move)) for move in launch.movements],
        "expected": [_finite(asdict(expectation)) for expectation in launch.expectations],
        "next": asdict(launch.next) if launch.next else None,
        "notes": list(launch.notes),
    }


def _finite(form: dict[str, Any]) -> dict[str, Any]:
    """NaN, a quotient by a measured zero, is no JSON; null is."""
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in form.items()}


def hit_json(hit: Hit) -> dict[str, Any]:
    """One hit of `search`."""
    return {
        "id": hit.id,
        "kind": hit.kind,
        "title": hit.record["title"],
        "summary": hit.record["summary"],
        "path": hit.path,
        "lines": hit.lines,
        "score": hit.score,
        "parts": hit.parts,
        "applicability": {"status": hit.applicability.status, "reason": hit.applicability.reason},
        "evidence": {"level": hit.evidence.level, "text": hit.evidence.text},
        "why": list(hit.why),
    }


def search_json(situation: Situation, ranking: Ranking, hits: tuple[Hit, ...], advice: list[str]) -> dict[str, Any]:
    """The answer of `search`; with `nothing_fits` the hits are empty and the nearest misses stand apart."""
    shown = [hit_json(hit) for hit in hits]
    return {
        "schema": SCHEMA,
        "situation": situation_json(situation),
        "hits": [] if ranking.nothing_fits else shown,
        "nothing_fits": ranking.nothing_fits,
        "nearest_misses": shown if ranking.nothing_fits else [],
        "advice": advice,
    }


def context_json(situation: Situation, pack: Pack) -> dict[str, Any]:
    """The answer of `context`."""
    return {
        "schema": SCHEMA,
        "situation": situation_json(situation),
        "diagnosis": [diagnosis_json(diagnosis) for diagnosis in situation.diagnoses],
        "sections": [{"id": s.id, "kind": s.kind, "text": s.text, "tokens": s.tokens} for s in pack.sections],
        "left_out": list(pack.left_out),
        "tokens": pack.tokens,
    }

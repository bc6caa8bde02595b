"""The pairs that prove the guides: a kernel with the bottleneck and its cured twin, both run on a GPU, with the time of each.

Nothing here is typed: which kernels belong together stands in their labels, times in their manifests, and the diagnosis is asked anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from indexer.records import GuideRecord
from retriever.diagnosis import diagnose
from retriever.labels import FOLDER, Label, load_labels, report_manifest
from retriever.reports.derive import with_derived
from retriever.reports.read import read_report


@dataclass(frozen=True, slots=True)
class GuidePair:
    """One bottleneck, before and after."""

    bottleneck: str
    before: str
    """Name of the kernel under `kernel_wiki/reports`."""
    after: str
    technique: str
    gain: float
    """Time before over time after for the same work; above 1 is faster."""
    before_us: float
    """For one unit of the work that both count in."""
    after_us: float
    gpu: str
    severity_before: float
    severity_after: float
    """0 where the diagnosis no longer names the bottleneck, or only as the roof of a kernel without a fault."""
    next: str
    """What the diagnosis names first afterwards; empty when nothing."""

    @property
    def proves(self) -> bool:
        """The diagnosis names the bottleneck before and after it no longer as a fault, and the cure is faster."""
        return self.severity_before > 0 and self.severity_after == 0 and self.gain > 1


def find_pairs(root: Path, guides: Iterable[GuideRecord], bottleneck: str = "") -> tuple[GuidePair, ...]:
    """Every pair of the labels whose reports are kept, or those of one bottleneck; by bottleneck, then by name."""
    labels, guides = load_labels(root), tuple(guides)
    twins = {name: labels[label.cures] for name, label in labels.items() if label.cures in labels and labels[label.cures].planted}
    pairs = [_pair(root, name, labels[name], twin, guides) for name, twin in twins.items() if bottleneck in ("", twin.planted[0])]
    return tuple(sorted(filter(None, pairs), key=lambda pair: (pair.bottleneck, pair.before, pair.after)))


def _pair(root: Path, name: str, label: Label, twin: Label, guides: tuple[GuideRecord, ...]) -> GuidePair | None:
    """None where one of the two has no report yet."""
    bottleneck, before = twin.planted[0], label.cures
    manifests = [report_manifest(root, each) for each in (before, name)]
    if None in manifests:
        return None
    times = [manifest["time_us"] / manifest["work"] for manifest in manifests]
    severities = [_severities(root, before, guides, roofs=True), _severities(root, name, guides, roofs=False)]
    return GuidePair(
        bottleneck,
        before,
        name,
        label.technique or "",
        round(times[0] / times[1], 2),
        times[0],
        times[1],
        manifests[0]["gpu"],
        severities[0].get(bottleneck, 0.0),
        severities[1].get(bottleneck, 0.0),
        next(iter(severities[1]), ""),
    )


def _severities(root: Path, name: str, guides: tuple[GuideRecord, ...], roofs: bool) -> dict[str, float]:
    """Bottleneck to severity, in the order of the diagnosis; `roofs`: also the units that a kernel without a fault ends at."""
    profile = read_report(root / FOLDER / name / "raw.csv").profiles[0]
    found = diagnose(with_derived(profile), guides).bottlenecks
    return {each.id: each.severity for each in found if roofs or not each.is_roof}


def pairs_json(pairs: Iterable[GuidePair]) -> list[dict[str, Any]]:
    """Each pair as an object."""
    return [asdict(pair) | {"proves": pair.proves} for pair in pairs]


def pairs_text(pairs: Iterable[GuidePair]) -> str:
    """A markdown table for a guide's page; empty without pairs."""
    rows = [
        f"| `{FOLDER.as_posix()}/{pair.before}` | `{pair.after}` | {pair.technique or '-'} | {pair.gain:g} | "
        f"{pair.severity_before:g} | {pair.severity_after:g} | {pair.next or '-'} |"
        for pair in pairs
    ]
    if not rows:
        return ""
    head = "| kernel | cured by | technique | gain | severity before | after | named first after |\n|---|---|---|---|---|---|---|"
    return "\n".join((head, *rows))

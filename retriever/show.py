"""One entry whole, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from indexer.evidence import zoo_evidence
from indexer.records import AttemptRecord, GuideRecord, PrRecord, Record, ZooRecord
from retriever.evidence import attempt_evidence_for, zoo_evidence_for
from retriever.guide_pairs import GuidePair, find_pairs, pairs_json, pairs_text
from retriever.lineage import chain, lineage_text
from retriever.render import code_text, precedent_facts, timings_text


def show_text(root: Path, record: Record, guides: Iterable[GuideRecord] = ()) -> str:
    """The page, then what the record adds to it: code and measurements, repository and figures, or the pairs of kernels that prove it."""
    parts = [f"# {record.title}", f"`{record.id}` ({record.path})", record.summary]
    entry = _entry(record)
    if isinstance(record, PrRecord):
        parts.append(precedent_facts(entry).strip())
    if isinstance(record, AttemptRecord):
        parts.append(f"A failed attempt: meant to beat `{record.parent}`.")
    if tags := _tags(record):
        parts.append(tags)
    parts.append(record.body.strip())
    if isinstance(record, ZooRecord):
        found = zoo_evidence(root, record)
        for proof in attempt_evidence_for(found, record.parent) if isinstance(record, AttemptRecord) else zoo_evidence_for(found):
            parts.append(
                f"## Measured on {proof.validation['gpu_facts'].get('name', proof.validation['gpu'])}"
                if proof.validation
                else "## Measured"
            )
            parts.append(timings_text(proof).strip())
        if not isinstance(record, AttemptRecord) and (relatives := lineage_text(record.id, root / "kernel_wiki" / "zoo")):
            parts.append("## Lineage\n\n" + relatives)
        parts.append("## Source\n\n" + code_text(root, entry))
    if isinstance(record, GuideRecord) and (pairs := _pairs(root, record, guides)):
        parts.append(f"## Proved on {pairs[0].gpu}\n\n{pairs_text(pairs)}\n\nGain: time before over time after, for the same work.")
    if record.sources:
        lines = [
            f"- {source.title}{f' ({source.revision})' if source.revision else ''}{f': {source.url}' if source.url else ''}"
            for source in record.sources
        ]
        parts.append("## Sources\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def show_json(root: Path, record: Record, guides: Iterable[GuideRecord] = ()) -> dict[str, Any]:
    """The front matter, the page and, for an implementation, an attempt or a guide, its files and what proves it."""
    form = {"schema": 1, **_entry(record), "body": record.body}
    if isinstance(record, ZooRecord):
        page = root / record.path
        files = [page.with_suffix(suffix) for suffix in (".py", ".cu") if page.with_suffix(suffix).is_file()]
        form["files"] = {file.relative_to(root).as_posix(): file.read_text(encoding="utf-8") for file in files}
        form["evidence"] = zoo_evidence(root, record)
        if not isinstance(record, AttemptRecord):
            form["lineage"] = chain(record.id, root / "kernel_wiki" / "zoo")
    if isinstance(record, GuideRecord):
        form["pairs"] = pairs_json(_pairs(root, record, guides))
    return form


def _pairs(root: Path, record: GuideRecord, guides: Iterable[GuideRecord]) -> tuple[GuidePair, ...]:
    return find_pairs(root, guides, record.bottlenecks[0]) if record.bottlenecks else ()


def _entry(record: Record) -> dict[str, Any]:
    return record.model_dump(mode="json", exclude_defaults=True) | {"id": record.id, "kind": record.kind, "location": record.location}


def _tags(record: Record) -> str:
    names = ("families", "techniques", "bottlenecks", "dtypes", "languages", "requires")
    lines = [f"- {name}: {', '.join(getattr(record, name))}" for name in names if getattr(record, name)]
    lines += [f"- on a GPU without {fallback.instead_of}: {fallback.how}" for fallback in record.fallbacks]
    return "\n".join(lines)

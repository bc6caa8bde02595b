"""The zoo as a table, and the way from the command line to the harness."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from indexer.errors import InputError
from indexer.evidence import zoo_evidence
from indexer.gpus import Gpu
from indexer.records import ZooRecord
from retriever.applicability import applicability
from retriever.evidence import evidence
from retriever.render import rate

if TYPE_CHECKING:
    from retriever.service import Warplore


def zoo_rows(core: Warplore, gpu: Gpu | None) -> list[dict[str, Any]]:
    """One row an implementation, in id order."""
    rows = []
    for record in core.entries("zoo"):
        if not isinstance(record, ZooRecord):
            continue
        entry = record.model_dump(mode="json") | {"id": record.id, "kind": "zoo", "evidence": zoo_evidence(core.root, record)}
        proof, usable = evidence(entry, gpu), applicability(entry, gpu)
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


def validate(name: str, rounds: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Validation records of one implementation, of an operator or of `all`, run on this machine's GPU and written to the zoo.

    Raises:
        InputError: the zoo has no such entry, or this machine has no GPU.
    """
    from kernel_wiki.harness import discover, judge, record

    try:
        entries = discover.select(name.removeprefix("zoo/"))
    except LookupError as error:
        raise InputError(str(error)) from error
    if not judge.has_gpu():
        raise InputError("no GPU here, so nothing can be validated; what needs none: `python -m kernel_wiki.harness compile`")
    records = judge.validate_many(entries, judge.Options(rounds=rounds, say=say))
    for each in records:
        record.write(each, discover.record_path(each["operator"], each["impl"], discover.gpu_slug(each["gpu"]["name"])))
    return records

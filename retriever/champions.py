"""The answer of `zoo champions`: who leads each timed case, and what could not be compared."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from indexer.gpus import Gpu
from kernel_wiki.harness import champions, discover
from retriever.zoo import known_operator, zoo_folder

if TYPE_CHECKING:
    from retriever.service import Warplore


def champions_form(core: Warplore, operator: str | None, gpu: Gpu | None) -> dict[str, Any]:
    """`{"champions": [...], "left_out": [...]}` over one operator or all; see `kernel_wiki.harness.champions` for the comparison.

    Raises:
        InputError: the zoo has no such operator.
    """
    zoo = zoo_folder(core)
    names = [known_operator(core, operator)] if operator else discover.operators(zoo)
    slugs = slugs_of(gpu) if gpu else None
    found = [lead for name in names for lead in champions.leads(name, zoo) if slugs is None or discover.gpu_slug(lead.gpu) in slugs]
    missing = [one for name in names for one in champions.left_out(name, zoo) if slugs is None or one.gpu is None or one.gpu in slugs]
    return {"champions": [asdict(lead) for lead in found], "left_out": [asdict(one) for one in missing]}


def present_champion(core: Warplore, operator: str) -> str | None:
    """Id of the champion of `operator` on the GPU with most comparable records, the first by name between equals; None without one."""
    zoo = zoo_folder(core)
    slugs = [slug for _, slug, _ in champions.records(operator, zoo)]
    chosen = min(set(slugs), key=lambda slug: (-slugs.count(slug), slug), default=None)
    name = champions.champion(operator, chosen, zoo) if chosen else None
    return f"zoo/{operator}/{name}" if name else None


def slugs_of(gpu: Gpu) -> set[str]:
    """The folders that records of that product may have."""
    names = (gpu.product.name, *gpu.product.aliases) if gpu.product else (gpu.id,)
    return {discover.gpu_slug(name) for name in names} | {discover.gpu_slug(f"NVIDIA {name}") for name in names}

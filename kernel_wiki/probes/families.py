"""The probes by family, imported when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from importlib import import_module

from .probe import AnyProbe

FAMILIES = (
    "integer",
    "logic",
    "compare",
    "float",
    "half",
    "convert",
    "warp",
    "memory",
    "atomics",
    "barrier",
    "asynchronous",
    "cluster",
    "matrix",
    "wgmma",
    "control",
)


def load() -> dict[str, tuple[AnyProbe, ...]]:
    """Family to probes, in order."""
    return {family: import_module(f"{__package__}.{family}").PROBES for family in FAMILIES}


def select(what: str) -> dict[str, Sequence[AnyProbe]]:
    """Everything (`all`), a family, the probes of a page (`isa/integer/mul`), or those whose name matches (`mul.*`).

    Raises:
        LookupError: nothing matches.
    """
    families = load()
    if what == "all":
        return dict(families)
    if what in families:
        return {what: families[what]}
    found = {
        family: [each for each in probes if what == each.isa or what == each.name or fnmatchcase(each.name, what)]
        for family, probes in families.items()
    }
    found = {family: probes for family, probes in found.items() if probes}
    if not found:
        raise LookupError(f'no probe "{what}"; name one of the families ({", ".join(FAMILIES)}), a page such as isa/math/fma, or a probe')
    return found

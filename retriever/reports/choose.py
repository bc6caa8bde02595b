"""Which launches of a report `--kernel-name` means."""

from __future__ import annotations

import re
from collections.abc import Iterable

from retriever.reports.profile import Profile

MOST_CHOICES = 12  # a guess: names that a person reads through; a library's build log has thousands


def chosen(profiles: Iterable[Profile], name: str | None) -> tuple[Profile, ...]:
    """Launches whose kernel name contains `name`, in any case; all without one.

    Where no kernel name does, those whose whole signature, or mangled name, contains it; where none does either, those in which it is
    found as a regular expression. Empty when all fails.
    """
    profiles = tuple(profiles)
    if not name:
        return profiles
    part = name.lower()
    for found in (
        tuple(profile for profile in profiles if part in profile.kernel.lower()),
        tuple(profile for profile in profiles if part in profile.signature.lower()),
    ):
        if found:
            return found
    try:
        pattern = re.compile(name, re.IGNORECASE)
    except re.error:
        return ()
    return tuple(profile for profile in profiles if pattern.search(profile.kernel) or pattern.search(profile.signature))


def choices(profiles: Iterable[Profile]) -> str:
    """Each kernel's name once, the whole signature where several share a name; the first MOST_CHOICES of them."""
    signatures: dict[str, dict[str, None]] = {}
    for profile in profiles:
        signatures.setdefault(profile.kernel, {}).setdefault(profile.signature or profile.kernel)
    names = [name for kernel, several in signatures.items() for name in (several if len(several) > 1 else (kernel,))]
    more = f" and {len(names) - MOST_CHOICES} more" if len(names) > MOST_CHOICES else ""
    return ", ".join(names[:MOST_CHOICES]) + more

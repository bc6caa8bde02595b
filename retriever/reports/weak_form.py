"""How a profile says that nothing of it was counted by the GPU."""

from __future__ import annotations

import re

from retriever.reports.profile import Profile

FORM = "input__form"
"""Attribute of every profile that no counter was read for: where its values come from, in words."""
ADDED = "input__added"
"""Attribute of a profile with counters that resources or a time were added to."""


def capability_of(target: str) -> str | None:
    """`9.0` for `sm_90a`; None for anything else."""
    match = re.fullmatch(r"(?:sm|compute)_?(\d{1,2})(\d)[af]?", target.strip())
    return f"{match[1]}.{match[2]}" if match else None


def form_of(profile: Profile) -> str:
    """Where the values of a profile without counters come from; empty for a profile with counters."""
    return profile.attributes.get(FORM, "")


def is_weak(profile: Profile) -> bool:
    """Whether nothing of the profile was counted by the GPU."""
    return FORM in profile.attributes


def takes_estimates(profile: Profile) -> bool:
    """Whether anything but counters was given, so that what follows from it is asked for."""
    return is_weak(profile) or ADDED in profile.attributes

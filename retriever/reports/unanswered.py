"""Metrics that a user asked for by name and the profiler answered with `n/a`, and what is wrong with a name that cannot be one."""

from __future__ import annotations

import re

from retriever.reports.profile import Profile

BY_NAME = "Command line profiler metrics"
"""The section of what `--metrics` asked for."""

SHOWN_NAMES = 4  # a guess: more names than anyone reads in one note

_JOINED_ROLLUP = re.compile(r"(\.(?:avg|max|min|sum))_(?=(?:pct_of|per|peak)_)")


def unanswered(profiles: tuple[Profile, ...]) -> tuple[str, ...]:
    """A note on the names without a value in any launch whose metrics were asked for by name; none where each has one."""
    asked = [profile for profile in profiles if BY_NAME in profile.sections]
    silent = dict.fromkeys(name for profile in asked for name in profile.unavailable)
    names = [name for name in silent if all(name not in profile.metrics for profile in profiles)]
    if not names:
        return ()
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    hints = [hint for name in names if (hint := _hint(name))]
    what = f"; {hints[0]}" if hints else ""
    return (
        f"ncu gave no value (n/a) for {', '.join(names[:SHOWN_NAMES])}{more}{what}; names that this GPU and version have: "
        "ncu --query-metrics",
    )


def _hint(name: str) -> str:
    """What is wrong with a name that no metric can have; empty where nothing is."""
    if (pointed := _JOINED_ROLLUP.sub(r"\1.", name)) != name:
        return f"a point belongs behind the rollup: {pointed}"
    if "." in name and "__" not in name:
        return "two underscores belong behind the unit, as in sm__cycles_active.avg"
    return ""

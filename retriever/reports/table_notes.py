"""What to say of a summary whose rows are of two kinds, or could not all be read."""

from __future__ import annotations

from retriever.reports.profile import Profile

NAMED_LINES = 5  # a guess: enough to find them by
WHOLE_PCT = 99.0  # shares that were computed sum to 100, those of a part of a table to less
MIXED = "the shares are those of the table's column, which counts kernels and memory operations together"


def mixed_note(profiles: tuple[Profile, ...]) -> tuple[str, ...]:
    """One note where a part of a table kept the shares of its column; none where they are of the kernel time."""
    whole = sum(profile.value("trace__share_of_kernel_time_pct") or 0.0 for profile in profiles)
    return (MIXED,) if whole < WHOLE_PCT else ()


def unread_note(lines: list[int]) -> tuple[str, ...]:
    """One note with the lines of the rows that were left out; none for no line."""
    if not lines:
        return ()
    named = ", ".join(map(str, lines[:NAMED_LINES])) + (", ..." if len(lines) > NAMED_LINES else "")
    rows = "1 row" if len(lines) == 1 else f"{len(lines)} rows"
    return (f"line {named}: {rows} of the table cannot be read as a kernel or a copy, left out",)

"""The lines of a launch where warps wait most, as text and as JSON.

Shares are of warp samples. They say where time goes inside a kernel, not how much a change can gain, and they are never mixed with
stall cycles per instruction, whose base is another.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from retriever.reports.profile import Profile, SourceLine

SHOWN = 5
MAX_CODE = 80  # characters of a line that are shown


def hot_lines_json(profile: Profile) -> dict[str, Any] | None:
    """`samples` of the launch and its `lines`, hottest first; None when the report has no samples by line."""
    if not profile.lines:
        return None
    return {"samples": profile.sampled, "lines": [_line_json(line, profile.sampled) for line in profile.lines]}


def _line_json(line: SourceLine, total: int) -> dict[str, Any]:
    return {
        "file": line.file or None,
        "line": line.line or None,
        "address": line.address or None,
        "text": line.text,
        "samples": line.samples,
        "share_pct": round(100 * line.samples / total, 1),
        "main_stall": line.main_stall or None,
        "stalls": dict(line.stalls),
    }


def hot_lines_text(profile: Profile, shown: int = SHOWN) -> list[str]:
    """One heading and one line of text for each of the hottest lines; empty when the report has no samples by line."""
    if not profile.lines:
        return []
    return [f"hottest lines, of {profile.sampled:,} warp samples:", *(_line_text(line, profile.sampled) for line in profile.lines[:shown])]


def _line_text(line: SourceLine, total: int) -> str:
    place = f"{PurePosixPath(line.file).name}:{line.line}" if line.file and line.line else line.address or f"line {line.line}"
    stall = line.main_stall
    reason = f"{stall} {line.stalls[stall] / line.samples:.0%} of them" if stall else "no stall"
    code = " ".join(line.text.split())
    return f"{line.samples / total:>4.0%}  {place}  {reason}  {code[:MAX_CODE]}"

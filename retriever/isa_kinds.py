"""Why an assembler refuses, by the wording of its message."""

from __future__ import annotations

import re

KINDS: tuple[tuple[str, str], ...] = (
    ("version", r"PTX ISA \.version|as of PTX version|from PTX ISA version|Unsupported \.version"),
    ("target", r"requires \.target sm_\d+\w* or higher|requires \.target sm_"),
    ("family", r"not supported on \.target|cannot be compiled to future|different SM-family"),
    ("syntax", r"syntax error|Parsing error|Not a name of any known instruction|Unknown (?:modifier|symbol)|Undefined|Duplicate"),
    (
        "limit",
        r"out of range|exceed|too much|too many|must be (?:in )?(?:a )?(?:multiple|power)|expected to be (?:multiple|power|in range)"
        r"|Conflicting|is not allowed|not allowed",
    ),
    ("operand", r"[Aa]rgument|operand|vector|[Ss]tate space|[Aa]lign|[Aa]ddress|register|variable|expected to be"),
    ("modifier", r"[Mm]odifier|[Qq]ualifier|requires '|requires \.\w+|[Ii]nstruction types|[Tt]ype|[Oo]peration|combined"),
)
"""Kind to what its messages say, the first that fits; the wordings are those of ptxas 12.9 to 13.5.

`version`: a newer PTX ISA is needed (or an older one). `target`: a later architecture. `family`: it exists on named architectures only.
`syntax`: it cannot be read. `limit`: a number or a resource out of bounds. `operand`: an argument does not fit. `modifier`: the modifiers
or types do not go together.
"""
OTHER = "other"


def error_kind(message: str) -> str:
    """The kind of refusal that a message tells of."""
    return next((kind for kind, pattern in KINDS if re.search(pattern, message)), OTHER)

"""Names of GPUs inside a binary report, for reports whose sections left the attribute with the product's name out."""

from __future__ import annotations

import mmap
import re
from pathlib import Path

_NAME = re.compile(rb"([\x08-\x40])((?:NVIDIA|Tesla|Quadro|GeForce|GRID) [ -~]{2,60})")
"""A string field as protocol buffers write it, its length in the byte before it."""


def device_names(path: Path) -> frozenset[str]:
    """The different product names that a binary report holds; one for nearly every report, several where GPUs of two kinds ran."""
    if not path.stat().st_size:
        return frozenset()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        found = ((match[1][0], match[2]) for match in _NAME.finditer(data))
        return frozenset(text[:length].decode("ascii") for length, text in found if len(text) >= length)

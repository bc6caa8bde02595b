"""One line on a terminal while a large report is read."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

SHOWN_FROM_BYTES = 20 * 10**6  # about two seconds of reading; below it the line would only flicker
PACKED_RATIO = 20  # how far reports shrink in xz, so that a small packed file counts as a large one
REDRAW_S = 0.1

Watch = Callable[[int, float | None], None]
"""Takes the line read last, 0 when reading ends, and the share of the file before it, None where that is not known."""


def no_watch(line: int, share: float | None) -> None:
    """Shows nothing."""


class ReadingLine:
    """Draws `reading NAME 43 %` over itself and wipes it at the end."""

    def __init__(self, name: str, stream: TextIO, clock: Callable[[], float] = time.monotonic):
        self._name, self._stream, self._clock = name, stream, clock
        self._drawn = 0
        self._next = clock() + REDRAW_S

    def __call__(self, line: int, share: float | None) -> None:
        if line and self._clock() < self._next:
            return
        self._next = self._clock() + REDRAW_S
        text = f"reading {self._name}: " + (f"line {line:,}" if share is None else f"{share:.0%}") if line else ""
        if text or self._drawn:
            self._stream.write(f"\r{text.ljust(self._drawn)}" + ("" if text else "\r"))
            self._stream.flush()
        self._drawn = len(text)


def watch_of(name: str, size_bytes: int, packed: bool, stream: TextIO) -> Watch:
    """The line for a file of this size, when `stream` is a terminal."""
    large = size_bytes * (PACKED_RATIO if packed else 1) >= SHOWN_FROM_BYTES
    return ReadingLine(name, stream) if large and stream.isatty() else no_watch

"""The line that names a launch, whole or as a narrow terminal wrapped it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from retriever.reports.draft import Dimensions, extents

_TRIPLE = r"\(\s*(\d{1,10}),\s*(\d{1,10}),\s*(\d{1,10})\s*\)"
_PLACE = r"(?:Stream\s*\d+,\s*)?Device\s*(?P<device>\d+),\s*CC\s*(?P<cc>\d+\.\d+)(?:,\s*Invocations\s*(?P<count>\d{1,9}))?"
_END = r"[\s*`\"',.;:)\]}]*$"
_WHOLE = re.compile(rf"(?:{_TRIPLE}\s*x\s*{_TRIPLE},\s*(?:Context\s*\d+,\s*)?|,\s*Context\s*\d+,\s*){_PLACE}{_END}")
_CUT = re.compile(rf"{_TRIPLE}\s*x\s*{_TRIPLE}(?:,[^()]{{0,40}})?\s*$")
_EARLIER = re.compile(rf"(?:,\s*\d{{4}}-\w{{3}}-\d{{2}}\s+\d{{2}}:\d{{2}}:\d{{2}})?,\s*Context\s*\d+,\s*Stream\s*\d+{_END}")
_TAIL = re.compile(rf"CC\s*\d+\.\d+(?:,\s*Invocations\s*\d+)?{_END}|Stream\s*\d+{_END}")
_DECORATION = re.compile(r"(?:[\s>#*`\"'-]|\d{1,3}\. )*")
_FRAME = re.compile(r"\s*(?:==|\[\d+\] \S+@|-{3,}|$)")

WRAPPED_OVER = 12  # lines of a narrow terminal that one kernel line may fill: template arguments run to a thousand characters


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel line."""

    line: int
    signature: str
    earlier: bool
    """True for the line of versions up to about 2022.1, without grid and compute capability."""
    grid: Dimensions | None = None
    block: Dimensions | None = None
    compute_capability: str | None = None
    invocations: int = 1
    gpu_index: str = ""
    process_id: str = ""
    """From the line `[pid] program@host` above the launches of a process."""


def launch_in(text: str, line: int = 0) -> Launch | None:
    """The launch that a mended line announces; None for any other line. A line cut behind its grid gives what it has."""
    if "Device" in text or ")x" in text or ") x" in text:
        match = _WHOLE.search(text) or _CUT.search(text)
        signature = _signature(text[: match.start()]) if match else ""
        if match and signature:
            grid, block = (_dimensions(match, 1), _dimensions(match, 4)) if match[1] else (None, None)
            known = match.groupdict()
            return Launch(line, signature, False, grid, block, known.get("cc"), int(known.get("count") or 1), known.get("device") or "")
    if "Context" in text and (match := _EARLIER.search(text)):
        signature = _signature(text[: match.start()])
        return Launch(line, signature, True) if signature else None
    return None


def _dimensions(match: re.Match[str], first: int) -> Dimensions | None:
    return extents(int(match[first]), int(match[first + 1]), int(match[first + 2]))


def _signature(text: str) -> str:
    return text[_DECORATION.match(text).end() :].strip()  # type: ignore[union-attr]


def whole_kernel_lines(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The same lines, with each kernel line that was wrapped put together again under the number of its last or cut part."""
    recent: deque[str] = deque(maxlen=WRAPPED_OVER)
    held: tuple[int, str] | None = None
    for number, line in lines:
        text = line.rstrip("\n")
        if held:
            (begun, cut), held = held, None
            joined = _joined(cut, text)
            yield begun, (joined or cut) + "\n"
            if joined:
                continue
        launch = launch_in(text)
        if (launch and not _balanced(text)) or (launch is None and _may_end(text) and _TAIL.search(text)):
            text, launch = _with_earlier_parts(text, launch, recent)
        if launch and not launch.earlier and launch.compute_capability is None:
            held = (number, text)
            continue
        if _FRAME.match(text) or launch:
            recent.clear()
        else:
            recent.append(text)
        yield number, text + line[len(line.rstrip("\n")) :]
    if held:
        yield held


def _may_end(text: str) -> bool:
    """What the end of a kernel line needs, told in a tenth of the time of looking for one."""
    return "CC" in text or "Stream" in text


def _joined(cut: str, text: str) -> str | None:
    """The cut kernel line with the next line behind it, if that makes it whole."""
    for gap in ("", " "):
        launch = launch_in(cut + gap + text.strip())
        if launch and launch.compute_capability and text.strip():
            return cut + gap + text.strip()
    return None


def _with_earlier_parts(text: str, launch: Launch | None, recent: deque[str]) -> tuple[str, Launch | None]:
    """A kernel line's end with the lines before it, as far back as its brackets are open; unchanged when they do not help."""
    whole = text
    for part in reversed(recent):
        whole = part + (whole if len(whole) - len(whole.lstrip()) < 2 else whole.lstrip())
        found = launch_in(whole)
        if found and _balanced(whole):
            return whole, found
    return text, launch


def _balanced(line: str) -> bool:
    """False for the end of a kernel line whose beginning stands on another line."""
    return line.count("(") >= line.count(")") and line.count("<") >= line.count(">")

"""Lines of code with warp samples: what one launch's source page adds up to, and which launch of a report it belongs to.

A sample says where a warp stood and why it did not issue. Sums of samples are a base of their own: they are kept under the names of
the sampling metrics (`smsp__pcsamp_*`) and never stand in for cycles per issued instruction.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from retriever.reports.draft import Notes
from retriever.reports.kernel_names import kernel_name
from retriever.reports.profile import Metric, Profile, SourceLine
from retriever.reports.stall_names import SAMPLES, sampled_metric

KEPT_LINES = 40
"""Lines kept of a launch, a guess: samples of a hot kernel gather on far fewer, and a kernel of a library has 20,000 instructions."""


@dataclass(slots=True)
class Block:
    """What the source page says about one launch, while it is read.

    The page can show source, instructions or both. A line of source stands for its instructions, so only one of the two is summed.
    """

    kernel: str
    location: str
    source: list[SourceLine] = field(default_factory=list)
    instructions: list[SourceLine] = field(default_factory=list)

    def add(self, line: SourceLine) -> None:
        """Keeps a line that has samples."""
        if line.samples:
            (self.instructions if line.address else self.source).append(line)

    @property
    def lines(self) -> list[SourceLine]:
        return self.source or self.instructions

    def hottest(self) -> tuple[SourceLine, ...]:
        """The lines with most samples, ties as in the code."""
        return tuple(sorted(self.lines, key=lambda line: -line.samples)[:KEPT_LINES])

    def sampled(self) -> int:
        """All samples."""
        return sum(line.samples for line in self.lines)

    def metrics(self) -> dict[str, Metric]:
        """The sums, under the names of the sampling metrics."""
        sums: Counter[str] = Counter()
        for line in self.lines:
            sums.update(line.stalls)
        found = {sampled_metric(reason): Metric(float(count), "warp", self.location) for reason, count in sorted(sums.items())}
        return {SAMPLES: Metric(float(self.sampled()), "", self.location), **found} if self.lines else {}


def by_count(stalls: Mapping[str, int]) -> dict[str, int]:
    """The reasons that have samples, most first, then by name."""
    return dict(sorted(((reason, count) for reason, count in stalls.items() if count), key=lambda item: (-item[1], item[0])))


def with_lines(profiles: Iterable[Profile], blocks: Iterable[Block], notes: Notes) -> list[Profile]:
    """The profiles with the lines of their source blocks; a block without a launch becomes a profile that has nothing else.

    The n-th block of a kernel belongs to its n-th launch: the tool prints both in the order of the launches.
    """
    waiting: dict[str, list[Block]] = {}
    for block in blocks:
        waiting.setdefault(kernel_name(block.kernel), []).append(block)
    joined = []
    for profile in profiles:
        queue = waiting.get(profile.kernel)
        block = queue.pop(0) if queue else None
        joined.append(dataclasses.replace(profile, lines=block.hottest(), sampled=block.sampled()) if block else profile)
    left = [block for queue in waiting.values() for block in queue]
    if joined and left:
        notes.add(_line(left[0]), f"{len(left)} source blocks fit no launch of this file by kernel name; each stands for itself")
    return joined + [_alone(block) for block in left]


def _alone(block: Block) -> Profile:
    name = kernel_name(block.kernel)
    return Profile(
        kernel=name,
        signature=block.kernel if name != block.kernel else "",
        metrics=block.metrics(),
        location=block.location,
        lines=block.hottest(),
        sampled=block.sampled(),
    )


def _line(block: Block) -> int:
    return int(block.location.split(":")[0])

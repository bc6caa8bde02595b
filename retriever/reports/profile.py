"""What a report says about one kernel launch, whatever format it came in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Metric:
    """One measured value."""

    value: float
    unit: str
    """A base unit: `%`, `ns`, `byte`, `byte/s`, `hz`, `cycle`, `inst`, `warp`, `register/thread`, or empty for a ratio."""
    location: str
    """`line:column` in the report, where a CSV's column is its field number from 1; `launch:metric`, both counted from 1, in a binary
    report; `derived` when it was computed."""


@dataclass(frozen=True, slots=True)
class RuleMessage:
    """What one of Nsight Compute's own rules said."""

    name: str
    """Rule identifier where the format has it (`SOLBottleneck`), else the section it stood in."""
    severity: str
    """`INF`, `OPT`, `WRN` or `ERR`."""
    text: str
    estimated_speedup_pct: float | None = None
    location: str = ""
    """`line:column` in the report."""
    speedup_scope: str = ""
    """`global`: share of the kernel; `local`: share of the section's own metric; empty when the report does not say."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line of code, or one instruction, with the warp samples that the profiler took there."""

    samples: int
    stalls: Mapping[str, int]
    """Samples by stall reason as the metrics spell it (`long_scoreboard`), most first; `selected` is no stall but an issue."""
    text: str
    """The line of source, else the instruction."""
    file: str = ""
    line: int = 0
    """In `file`, from 1; 0 where the report has only instructions."""
    address: str = ""
    """Of the instruction, as printed; empty for a line of source."""
    location: str = ""
    """`line:column` in the report."""

    @property
    def main_stall(self) -> str:
        """The reason of most samples that did not issue; empty when there is none."""
        return next((reason for reason, count in self.stalls.items() if reason != "selected" and count), "")


@dataclass(frozen=True, slots=True)
class Profile:
    """One profiled launch."""

    kernel: str
    """Name as the report prints it, without its arguments."""
    signature: str = ""
    """Name with arguments, where the report has them."""
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    device: str | None = None
    """Product name, when the report says it."""
    compute_capability: str | None = None
    """`9.0`."""
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    """By raw metric name of current versions (`gpu__time_duration.sum`); labels and old names are already translated.
    A label without a known metric stays as `section/label`."""
    unavailable: tuple[str, ...] = ()
    """Metrics that the report lists without a value (`n/a`, `nan`, failed pass)."""
    rules: tuple[RuleMessage, ...] = ()
    sections: tuple[str, ...] = ()
    """Section identifiers seen (`SpeedOfLight`)."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Metrics whose value is a word, by the same names: `launch__func_cache_config`, `device__attribute_display_name`."""
    launch_id: str = ""
    """The launch's own number in the report, where it has one."""
    invocations: int = 1
    """How many launches these values average (`--print-summary`)."""
    location: str = ""
    """`line:column` where the launch begins in the report."""
    lines: tuple[SourceLine, ...] = ()
    """The lines with samples, hottest first, where the report has its source page; shares refer to `sampled`."""
    sampled: int = 0
    """Warp samples of all lines together, those left out of `lines` too."""
    workload: str = "kernel"
    """`kernel`, or what else was profiled as one: `range`, `graph`, `cmdlist`."""
    process_id: str = ""
    """Where a report has several processes, launch ids repeat among them."""
    gpu_index: str = ""
    """The GPU's number on its machine, where the report says it."""

    def value(self, name: str) -> float | None:
        """The metric's value in base units; None when the report does not have it."""
        metric = self.metrics.get(name)
        return metric.value if metric else None


ProfilesAndNotes = tuple[tuple[Profile, ...], tuple[str, ...]]
"""What a reader gives: the launches, and what is worth telling about the reading."""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything read from one file or paste."""

    source: str
    """The file's name as given."""
    layout: str
    """Of Nsight Compute `csv-raw`, `csv-vertical`, `csv-details`, `csv-source`, `console`, `console-legacy` or `ncu-rep`; without counters
    `ptxas`, `cuobjdump`, `nsys`, `torch-table`, `torch-trace`, `triton-metadata` or `typed`."""
    profiles: tuple[Profile, ...]
    notes: tuple[str, ...] = ()
    """How numbers were read, then what could not be, each with its line: `line 214: row cut after "Duration"`."""

    @property
    def has_every_metric(self) -> bool:
        """Whether printing the same report in another way brings no more metrics."""
        return self.layout in ("csv-raw", "csv-vertical", "ncu-rep")

"""What a report says about one kernel launch, whatever format it came in."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Metric:
    """One measured value."""

    value: float
    unit: str
    """A base unit: `%`, `ns`, `byte`, `byte/s`, `hz`, `cycle`, `inst`, `warp`, `register/thread`, or empty for a ratio."""
    location: str
    """`line:column` in the report."""


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
    metrics: dict[str, Metric] = field(default_factory=dict)
    """By raw metric name of current versions (`gpu__time_duration.sum`); labels and old names are already translated."""
    unavailable: tuple[str, ...] = ()
    """Metrics that the report lists without a value (`n/a`, `nan`, failed pass)."""
    rules: tuple[RuleMessage, ...] = ()
    sections: tuple[str, ...] = ()
    """Section identifiers seen (`SpeedOfLight`)."""

    def value(self, name: str) -> float | None:
        """The metric's value in base units; None when the report does not have it."""
        metric = self.metrics.get(name)
        return metric.value if metric else None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything read from one file."""

    source: str
    """The file's name as given."""
    layout: str
    """`csv-raw`, `csv-details`, `console` or `console-legacy`."""
    profiles: tuple[Profile, ...]
    notes: tuple[str, ...] = ()
    """What could not be read, each with its line: `line 214: row cut after "Duration"`."""

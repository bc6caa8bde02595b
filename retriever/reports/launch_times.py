"""Launches of a trace, or rows of a summary, gathered to one profile for each kernel and shape, the most time first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from retriever.reports.draft import Dimensions
from retriever.reports.kernel_names import kernel_name, readable
from retriever.reports.profile import Metric, Profile, ProfilesAndNotes
from retriever.reports.weak_form import FORM


@dataclass(frozen=True, slots=True)
class Launch:
    """One thing that a GPU did: a kernel, or a copy or a fill, which only fills time."""

    name: str
    start_ns: float
    duration_ns: float
    location: str
    is_kernel: bool = True
    grid: Dimensions | None = None
    block: Dimensions | None = None
    registers: float | None = None
    static_bytes: float | None = None
    dynamic_bytes: float | None = None
    gpu: str = ""
    """The device's number or name, by which idle time is counted."""
    device: str | None = None
    """Product name, where the trace says it."""
    compute_capability: str | None = None


@dataclass(frozen=True, slots=True)
class Total:
    """All launches of one kernel and shape."""

    name: str
    count: int
    total_ns: float
    duration_ns: float
    """Median where the input has it, else the mean."""
    location: str
    idle_before_ns: float | None = None
    """Median time without any work on the GPU before a launch."""
    example: Launch | None = None
    """A launch with the shape and the resources, where there is one."""


def totals(launches: Iterable[Launch]) -> list[Total]:
    """Launches by name, grid and block."""
    groups: dict[tuple, list[tuple[Launch, float | None]]] = {}
    for launch, idle in _with_idle(launches):
        if launch.is_kernel:
            groups.setdefault((launch.name, launch.grid, launch.block), []).append((launch, idle))
    found = []
    for (name, _, _), members in groups.items():
        durations = [launch.duration_ns for launch, _ in members]
        idle = [gap for _, gap in members if gap is not None]
        first = members[0][0]
        gap = median(idle) if idle else None
        found.append(Total(name, len(members), sum(durations), median(durations), first.location, gap, first))
    return found


def _with_idle(launches: Iterable[Launch]) -> Iterable[tuple[Launch, float | None]]:
    """Each launch, by start, with the time since the GPU last had work; None for the first on a GPU."""
    busy_until: dict[str, float] = {}
    for launch in sorted(launches, key=lambda launch: (launch.start_ns, launch.location)):
        before = busy_until.get(launch.gpu)
        yield launch, None if before is None else max(0.0, launch.start_ns - before)
        busy_until[launch.gpu] = max(before or 0.0, launch.start_ns + launch.duration_ns)


def profiles_of(found: list[Total], form: str) -> ProfilesAndNotes:
    """Profiles, the most total time first, and a note that says which kernel to look at first."""
    whole = sum(total.total_ns for total in found)
    ordered = sorted(found, key=lambda total: (-total.total_ns, total.name, total.location))
    profiles = tuple(_profile(total, form, 100 * total.total_ns / whole if whole else 0.0) for total in ordered)
    return profiles, (_first_to_look_at(ordered, whole),) if ordered else ()


def _first_to_look_at(ordered: list[Total], whole: float) -> str:
    top = ordered[0]
    share = 100 * top.total_ns / whole if whole else 0.0
    many = f"{len(ordered)} kernels and shapes, " if len(ordered) > 1 else ""
    return f"{many}{whole / 1e6:.4g} ms of kernel time; look first at {top.name}: {share:.0f} % of it, launches: {top.count}"


def _profile(total: Total, form: str, share_pct: float) -> Profile:
    at = total.location
    numbers: dict[str, tuple[float | None, str]] = {
        "gpu__time_duration.sum": (total.duration_ns, "ns"),
        "trace__launches": (total.count, ""),
        "trace__total_ns": (total.total_ns, "ns"),
        "trace__share_of_kernel_time_pct": (share_pct, "%"),
        "trace__idle_before_ns": (total.idle_before_ns, "ns"),
    }
    example = total.example
    if example:
        numbers |= {
            "launch__registers_per_thread": (example.registers, "register/thread"),
            "launch__shared_mem_per_block_static": (example.static_bytes, "byte/block"),
            "launch__shared_mem_per_block_dynamic": (example.dynamic_bytes, "byte/block"),
        }
    return Profile(
        kernel=kernel_name(readable(total.name)),
        signature=total.name,
        grid=example.grid if example else None,
        block=example.block if example else None,
        device=example.device if example else None,
        compute_capability=example.compute_capability if example else None,
        metrics={name: Metric(float(value), unit, at) for name, (value, unit) in numbers.items() if value is not None},
        attributes={FORM: form},
        invocations=total.count,
        location=at,
    )

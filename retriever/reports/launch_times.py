"""Launches of a trace, or rows of a summary, gathered to one profile for each kernel and shape, the most time first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from retriever.reports.draft import Dimensions
from retriever.reports.kernel_names import kernel_name, readable
from retriever.reports.profile import Metric, Profile, ProfilesAndNotes
from retriever.reports.weak_form import FORM

MISSING_PCT, ROUNDING_PCT = 1.0, 0.05  # a guess, and half of the last digit that nsys prints: a table that lacks more is a part
NAMED_COPIES = 3  # a guess: one line has room for these


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
    share_pct: float | None = None
    """The table's own share of the time, where it has such a column."""


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


def profiles_of(found: list[Total], form: str, copies: dict[str, float] | None = None, beside_pct: float = 0.0) -> ProfilesAndNotes:
    """Profiles, the most total time first, and notes: what copies take, and which kernel to look at first.

    Args:
        copies: nanoseconds of the GPU's copies and fills, by name.
        beside_pct: share, by the table's own column, of its rows that are no kernels.
    """
    whole = sum(total.total_ns for total in found)
    ordered = sorted(found, key=lambda total: (-total.total_ns, total.name, total.location))
    pasted_pct = _pasted_pct(found, beside_pct)
    if pasted_pct is None:
        shares = [100 * total.total_ns / whole if whole else 0.0 for total in ordered]
    else:
        shares = [total.share_pct or 0.0 for total in ordered]
    profiles = tuple(_profile(total, form, share) for total, share in zip(ordered, shares))
    first = (_first_to_look_at(ordered, whole, shares[0], pasted_pct),) if ordered else ()
    return profiles, _copies_note(copies or {}, whole) + first


def _pasted_pct(found: list[Total], beside_pct: float) -> float | None:
    """What the rows hold by the table's own column where they are a part of it; None for a whole table, or one without that column."""
    shares = [total.share_pct for total in found if total.share_pct is not None]
    if len(shares) < len(found):
        return None
    sum_pct = sum(shares) + beside_pct
    return sum_pct if 100 - sum_pct > MISSING_PCT + ROUNDING_PCT * len(shares) else None


def _first_to_look_at(ordered: list[Total], whole: float, share: float, pasted_pct: float | None) -> str:
    top = ordered[0]
    many = f"{len(ordered)} kernels and shapes, " if len(ordered) > 1 else ""
    time = f"{many}{whole / 1e6:.4g} ms of kernel time"
    if pasted_pct is None:
        return f"{time}; look first at {top.name}: {share:.0f} % of it, launches: {top.count}"
    part = f"{time}, a part of the table: by its own column these rows hold {pasted_pct:.1f} % of the time"
    if share >= 100 - pasted_pct:  # no row that is missing can be larger
        return f"{part}; look first at {top.name}: {share:.1f} %, launches: {top.count}"
    return f"{part}, the largest {share:.1f} % ({top.name}); the rows that are missing may matter more: give the whole table"


def copies_of(launches: Iterable[Launch]) -> dict[str, float]:
    """Nanoseconds by name of what is no kernel."""
    found: dict[str, float] = {}
    for launch in launches:
        if not launch.is_kernel:
            found[launch.name] = found.get(launch.name, 0.0) + launch.duration_ns
    return found


def _copies_note(copies: dict[str, float], kernels_ns: float) -> tuple[str, ...]:
    """One line on the copies and fills, the longest by name."""
    whole = sum(copies.values())
    if not whole:
        return ()
    longest = sorted(copies.items(), key=lambda item: (-item[1], item[0]))[:NAMED_COPIES]
    each = ", ".join(f"{name} {time_ns / 1e6:.4g} ms" for name, time_ns in longest)
    first = "; they take longer than all kernels, so look at them first" if whole > kernels_ns else ""
    return (f"copies and fills take {whole / 1e6:.4g} ms of the GPU beside {kernels_ns / 1e6:.4g} ms of kernels ({each}){first}",)


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

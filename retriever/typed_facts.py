"""Facts that a user types beside a report, or in place of one: geometry, resources, a time with its bytes and operations."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, fields
from pathlib import Path

from indexer.errors import InputError
from retriever.case_work import case_work
from retriever.estimates import DTYPE, PIPES
from retriever.reports.choose import choices, chosen
from retriever.reports.kernel_names import base_name
from retriever.reports.profile import Metric, Profile, Report
from retriever.reports.weak_form import ADDED, FORM, is_weak

TYPED = "typed"
"""Location of every value that was typed."""
RESOURCE_LAYOUTS = ("ptxas", "cuobjdump", "triton-metadata")
MAX_COORDINATES = 3
MAX_BLOCK_THREADS, MAX_GRID_X, MAX_GRID_YZ = 1024, 2**31 - 1, 65535  # of every GPU here: CUDA C++ Programming Guide, compute capabilities
_TRIPLE = re.compile(r"\s*\(?\s*\d+(?:\s*[x,\s]\s*\d+)*\s*\)?\s*")
_CAST = re.compile(r"\([a-z ]+\)(?=-?\d)")
MOST = 1e24  # a guess: more bytes, operations or nanoseconds than any launch has
POSSIBLE = {
    "--smem": (0, 2**31 - 1),
    "--registers": (1, 255),
    "--time-us": (1, MOST),
    "--bytes": (0, MOST),
    "--flops": (0, MOST),
}
"""Least and most of each option: registers by the same guide, the time in nanoseconds."""


@dataclass(frozen=True, slots=True)
class Typed:
    """Options as given; None where one was not."""

    ptxas: str | None = None
    grid: str | None = None
    block: str | None = None
    smem: int | None = None
    """Dynamic shared memory of a block in bytes."""
    registers: int | None = None
    time_us: float | None = None
    bytes: float | None = None
    flops: float | None = None
    dtype: str | None = None
    case: str | None = None
    """`operator/case` of the zoo, whose bytes and operations are meant."""

    @property
    def given(self) -> bool:
        return any(getattr(self, option.name) is not None for option in fields(self))


def with_typed(report: Report | None, typed: Typed, root: Path, kernel_name: str | None = None) -> Report:
    """`report` with what was typed; without a report, one of a single launch that has nothing else.

    Values of the report stand where both have one. Geometry and time describe one kernel, so with several `kernel_name` must choose.

    Raises:
        InputError: a value that cannot be, an unknown case, or several kernels for one set of facts.
    """
    metrics, attributes, notes = _facts(typed, root)
    resources = _resources(typed.ptxas) if typed.ptxas else None
    if report is None and resources:
        report, resources = resources, None
    if report is None:
        name = typed.case.partition("/")[0] if typed.case else kernel_name or "kernel"
        report = Report("typed values", "typed", (Profile(name, attributes={FORM: "typed values"}),))
    profiles = report.profiles
    if resources:
        profiles, more = _joined(profiles, resources)
        notes += more
    wanted = chosen(profiles, kernel_name)
    sizes = (_triple(typed.grid, "--grid"), _triple(typed.block, "--block"))
    if metrics or any(sizes):
        names = list(dict.fromkeys(profile.signature or profile.kernel for profile in wanted))
        if len(names) > 1:
            raise InputError(
                f"typed values describe one kernel, {report.source} has {len(names)}: {choices(wanted)}; "
                "choose with --kernel-name and a part of one's name"
            )
        profiles = tuple(_add(profile, metrics, attributes, sizes) if profile in wanted else profile for profile in profiles)
    return dataclasses.replace(report, profiles=profiles, notes=report.notes + notes)


def _facts(typed: Typed, root: Path) -> tuple[dict[str, Metric], dict[str, str], tuple[str, ...]]:
    """Metrics, attributes and notes of what was typed."""
    moved, work, dtype, notes = typed.bytes, typed.flops, typed.dtype, ()
    if typed.case:
        found = case_work(root, typed.case)
        moved = found.bytes_moved if moved is None else moved
        work = found.flops if work is None else work
        dtype, notes = dtype or found.dtype, (found.note,)
    if dtype and dtype not in PIPES:
        raise InputError(f'--dtype "{dtype}": no peak goes by that name; one of {", ".join(PIPES)}')
    values = (
        ("launch__shared_mem_per_block_dynamic", typed.smem, "byte/block", "--smem"),
        ("launch__registers_per_thread", typed.registers, "register/thread", "--registers"),
        ("timed__duration_ns", None if typed.time_us is None else 1e3 * typed.time_us, "ns", "--time-us"),
        ("timed__bytes", moved, "byte", "--bytes"),
        ("timed__flops", work, "flop", "--flops"),
    )
    given = {"--time-us": typed.time_us}
    for _, value, _, option in values:
        least, most = POSSIBLE[option]
        if value is not None and not least <= value <= most:
            raise InputError(f"{option} {given.get(option, value):g}: not a possible value")
    metrics = {name: Metric(float(value), unit, TYPED) for name, value, unit, _ in values if value is not None}
    return metrics, {DTYPE: dtype} if dtype else {}, notes


def _triple(text: str | None, option: str) -> tuple[int, int, int] | None:
    """`32x8`, `(32, 8, 1)` or `256` as three extents."""
    if text is None:
        return None
    parts = re.findall(r"\d+", text)
    if not 1 <= len(parts) <= MAX_COORDINATES or not _TRIPLE.fullmatch(text) or any(int(part) == 0 for part in parts):
        raise InputError(f'{option} "{text}": not one to three sizes; write 256, 32x8 or 32,8,1')
    x, y, z = ([int(part) for part in parts] + [1, 1])[:3]
    if option == "--block" and x * y * z > MAX_BLOCK_THREADS:
        raise InputError(f'--block "{text}": {x * y * z:,} threads; a block has {MAX_BLOCK_THREADS:,} at most')
    if option == "--grid" and (x > MAX_GRID_X or max(y, z) > MAX_GRID_YZ):
        raise InputError(f'--grid "{text}": x can be {MAX_GRID_X:,} at most, y and z {MAX_GRID_YZ:,}')
    return x, y, z


def _add(profile: Profile, metrics: dict[str, Metric], attributes: dict[str, str], sizes: tuple) -> Profile:
    own = {ADDED: "typed values"} if not is_weak(profile) else {}
    return dataclasses.replace(
        profile,
        grid=profile.grid or sizes[0],
        block=profile.block or sizes[1],
        metrics={**metrics, **profile.metrics},
        attributes={**attributes, **own, **profile.attributes},
    )


def _resources(path: str) -> Report:
    from retriever.reports.read import read_report

    report = read_report(path)
    if report.layout not in RESOURCE_LAYOUTS:
        raise InputError(f"--ptxas {path}: a {report.layout} report; it takes the output of ptxas -v, cuobjdump or Triton's metadata")
    return report


def _joined(profiles: tuple[Profile, ...], resources: Report) -> tuple[tuple[Profile, ...], tuple[str, ...]]:
    """Profiles with the resources of the kernel of the same name, where one alone fits."""
    joined, notes = [], list(resources.notes)
    for profile in profiles:
        fitting = _fitting(profile, resources.profiles)
        if len(fitting) == 1:
            own = {} if is_weak(profile) else {ADDED: fitting[0].attributes[FORM]}
            metrics = {**fitting[0].metrics, **profile.metrics}
            joined.append(
                dataclasses.replace(
                    profile,
                    metrics=metrics,
                    rules=profile.rules + fitting[0].rules,
                    attributes={**own, **profile.attributes},
                    compute_capability=profile.compute_capability or fitting[0].compute_capability,
                    block=profile.block or fitting[0].block,
                )
            )
        else:
            joined.append(profile)
            fit = f"{len(fitting)} kernels fit" if fitting else "no kernel of that name:"
            among = f" ({choices(fitting)})" if fitting else ""
            notes.append(f"{resources.source}: {fit} {profile.kernel}{among}, so its resources are not used")
    return tuple(joined), tuple(dict.fromkeys(notes))


def _fitting(profile: Profile, resources: tuple[Profile, ...]) -> list[Profile]:
    """Those of the same base name, narrowed by template arguments, architecture and registers where both sides have them."""
    found = [other for other in resources if base_name(other.kernel) == base_name(profile.kernel)]
    found = [other for other in found if _instance(other) == _instance(profile)] or found
    for value in (lambda p: p.compute_capability, lambda p: p.value("launch__registers_per_thread")):
        if value(profile) is not None:
            found = [other for other in found if value(other) in (None, value(profile))]
    return found


def _instance(profile: Profile) -> str:
    """The kernel's name with its template arguments as both the compiler and the profiler can write them: `f<(int)4>` is `f<4>`."""
    return _CAST.sub("", profile.kernel.removeprefix("void ")).replace(" ", "")

"""`cuobjdump --dump-resource-usage`: what is kept of each kernel's resources in a cubin or an executable."""

from __future__ import annotations

import re

from retriever.reports.kernel_names import instance_name
from retriever.reports.profile import Metric, Profile, ProfilesAndNotes
from retriever.reports.source import TextSource
from retriever.reports.weak_form import FORM, capability_of

_ARCH = re.compile(r"^\s*arch\s*=\s*(sm_\w+)")
_FUNCTION = re.compile(r"^\s*Function (.+?):\s*$")
_USAGE = re.compile(r"\bREG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
_CONSTANT = re.compile(r"CONSTANT\[0\]:(\d+)")

RESERVED_BYTES = 1024  # counted in SHARED where shared memory is used at all, from sm_90 on
FIRST_COUNTING = 9.0
"""Seen with ptxas 12.9 and 13.0: one kernel with 1,024 static bytes is SHARED:1024 for sm_80 and sm_89, and 2048 for sm_90 to sm_120."""


def begins(line: str) -> bool:
    """Whether the line states a kernel's resources."""
    return _USAGE.search(line) is not None


def read_resource_usage(source: TextSource, _first: int) -> ProfilesAndNotes:
    """One profile for each function, and notes. Spills are not told apart from arrays here: both are in STACK."""
    profiles: list[Profile] = []
    arch = name = ""
    for number, line in source.lines():
        if match := _ARCH.match(line):
            arch = match[1]
        elif match := _FUNCTION.match(line):
            name = match[1]
        elif match := _USAGE.search(line):
            profiles.append(_profile(name or "kernel", arch, match, _CONSTANT.search(line), number))
    stacks = [profile.kernel for profile in profiles if profile.value("ptxas__stack_bytes")]
    if not stacks:
        return tuple(profiles), ()
    note = f"{', '.join(dict.fromkeys(stacks))}: a stack, of spilled registers or of arrays; ptxas -v tells which"
    return tuple(profiles), (note,)


def _profile(name: str, arch: str, usage: re.Match[str], constant: re.Match[str] | None, line: int) -> Profile:
    registers, stack, shared, local = (int(value) for value in usage.groups())
    capability = capability_of(arch)
    if capability and float(capability) >= FIRST_COUNTING:
        shared = max(0, shared - RESERVED_BYTES)
    place = f"{line}:1"
    metrics = {
        "launch__registers_per_thread": Metric(registers, "register/thread", place),
        "launch__shared_mem_per_block_static": Metric(shared, "byte/block", place),
        "ptxas__stack_bytes": Metric(stack, "byte", place),
        "ptxas__local_bytes": Metric(local, "byte", place),
    }
    if constant:
        metrics["ptxas__constant_bytes"] = Metric(int(constant[1]), "byte", place)
    attributes = {FORM: "cuobjdump --dump-resource-usage"} | ({"ptxas__target": arch} if arch else {})
    return Profile(instance_name(name), name, compute_capability=capability, metrics=metrics, attributes=attributes, location=place)

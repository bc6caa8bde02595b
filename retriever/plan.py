"""What to profile next, and the exact commands: sections for the guides that are open, or everything where there is no report yet."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from retriever.diagnosis import Diagnosis
from retriever.reports.kernel_names import base_name
from retriever.reports.profile import Profile
from retriever.reports.source import export_command

FULL_PASSES = 38  # replays of one launch by `--set full`: Nsight Compute 2025.3.1 on an H200, our 22 launches
WARM_LAUNCHES = 5  # launches skipped where nothing is known of the program: module loading, cold caches, autotuning
REPORT = "report"  # stem of the file that the commands write
EXPORT = export_command(f"{REPORT}.ncu-rep")

REMARKS = (
    "--clock-control none leaves the clocks to the GPU, as in real runs; without it ncu locks them to base, and two reports made either "
    "way compare in cycles only",
    "every pass starts with flushed caches; --cache-control none keeps what the launch before left there",
    "for a Python program, or where a child process launches: add --target-processes all",
)

EVERY = (
    "no kernel is named, so every launch is replayed, which is slow where there are many: --kernel-name NAME or --launch-count N bounds it"
)

DENIED = (
    "run ncu as root (sudo), or",
    "give the container the capability: docker run --cap-add SYS_ADMIN, or",
    "let every user read counters on the host: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, then reboot, or",
    "go on without counters: time the kernel with events, count its bytes and operations, read its registers and spills with "
    "nvcc -Xptxas -v or cuobjdump --dump-resource-usage; warplore diagnose takes these, nsys stats and torch.profiler in place of a report",
)
"""What to do at ERR_NVGPUCTRPERM, the least work first; the last where none of the others is in one's power, as on rented GPUs."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One collection for one kernel."""

    kernel: str
    """Name that the filter looks for; empty: every launch of the program."""
    sections: tuple[str, ...]
    """Section ids to collect; empty means the full set, or nothing where `commands` is only an export."""
    decides: tuple[str, ...]
    """Bottlenecks that are open now and that this decides."""
    commands: tuple[str, ...]
    """For a POSIX shell, in order; empty when nothing is open."""
    passes: int | None
    """Replays of a launch; None where nobody counted them."""
    remarks: tuple[str, ...]
    when_denied: tuple[str, ...] = DENIED


def plan_for(profile: Profile, diagnosis: Diagnosis) -> Plan:
    """What decides the guides that are open on one launch, the first of its name in its report."""
    decides = tuple(item.bottleneck for item in diagnosis.missing if not set(item.metrics) <= set(item.unavailable))
    if not diagnosis.collect_next:
        lost = tuple(
            f"{item.bottleneck} stays open: this GPU has no {', '.join(item.unavailable)}" for item in diagnosis.missing if item.unavailable
        )
        return Plan(profile.kernel, (), (), (), None, ("every guide is decided; nothing to collect", *lost)[bool(lost) :])
    sections = tuple(re.findall(r"--section (\S+)", diagnosis.collect_next))
    if not sections:
        only = "every section is in the report already; only its raw page is missing, which prints the metrics by name"
        return Plan(profile.kernel, (), decides, (EXPORT,), 0, (only,))
    options = " ".join(f"--section {section}" for section in sections)
    same = "--launch-skip 0 counts launches of this name before this one in the report; add those that its collection skipped"
    chosen = same if profile.kernel else EVERY
    whole = f"--set full in place of the sections collects all there is, in about {FULL_PASSES} passes"
    commands = (_collect(options, profile.kernel, 0), EXPORT)
    return Plan(profile.kernel, sections, decides, commands, None, (chosen, whole, *REMARKS))


def plan_from_nothing(kernels: tuple[str, ...] = ()) -> Plan:
    """The full collection, for a kernel of which there is no report, or for every launch."""
    name = kernels[0] if kernels else ""
    more = (f"the source has {len(kernels)} kernels; this is for {name}: put another name in the filter",) if len(kernels) > 1 else ()
    commands = (_collect("--set full", name, WARM_LAUNCHES), EXPORT)
    warm = f"--launch-skip {WARM_LAUNCHES} passes over the launches that warm up; lower it where the program launches fewer"
    return Plan(name, (), (), commands, FULL_PASSES, (*more, warm if name else EVERY, *REMARKS))


def _collect(options: str, kernel: str, skip: int) -> str:
    filters = f" --kernel-name {shlex.quote(name_filter(kernel))} --launch-skip {skip} --launch-count 1" if kernel else ""
    return f"ncu {options} --clock-control none{filters} -o {REPORT} --force-overwrite ./your_program"


def name_filter(kernel: str) -> str:
    """ncu's filter for exactly this kernel: a regular expression over the base name, its special characters taken literally.

    The base name has no namespace, template arguments or parameters, since that is what `--kernel-name` compares by default.
    """
    return f"regex:^{re.sub(r'([^A-Za-z0-9_])', _escaped, base_name(kernel))}$"


def _escaped(match: re.Match[str]) -> str:
    return "\\" + match[1]


def plan_text(plan: Plan) -> str:
    """A plan as a person reads it."""
    lines = [f"Plan for {plan.kernel or 'every launch of the program'}"]
    if plan.decides:
        lines.append(f"  open now: {', '.join(plan.decides)}")
    if plan.commands:
        each = "" if plan.kernel else " of each launch"
        what = f"sections {', '.join(plan.sections)}" if plan.sections else "the full set" if plan.passes else "nothing new"
        passes = "" if plan.passes == 0 else f"about {plan.passes}" if plan.passes else f"fewer than the {FULL_PASSES} of --set full"
        lines.append(f"  collects {what}{f'; passes{each}: {passes}' if passes else ''}")
        lines += ["", *(f"    {command}" for command in plan.commands), ""]
    lines += [f"  - {remark}" for remark in plan.remarks]
    if plan.commands:
        lines += ["  - when the counters are denied (ERR_NVGPUCTRPERM):", *(f"      {line}" for line in plan.when_denied)]
    return "\n".join(lines)

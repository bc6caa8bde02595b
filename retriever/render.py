"""Markdown of the parts of an answer. Each function takes values and gives text; nothing is read but the pages themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from indexer.front_matter import split_front_matter
from indexer.gpus import Gpu, GpuTable
from retriever.diagnosis import WELL_OPTIMIZED, Diagnosis, Undecided
from retriever.evidence import Evidence
from retriever.kernels.facts import Fact
from retriever.rank import Hit
from retriever.reports.profile import Profile
from retriever.signatures import Evidence as Piece
from retriever.situation import Situation
from retriever.weak_facts import WEAK

FENCES = {".py": "python", ".cu": "cuda", ".ptx": "ptx"}


def situation_text(situation: Situation) -> str:
    """What was understood, one line a subject."""
    lines = ["# Context for optimising this kernel", "", "## Situation", ""]
    if situation.ask:
        lines.append(f"- Asked: {situation.ask}")
    kernel = situation.kernel
    if kernel:
        names = ", ".join(kernel.kernels) or "no device entry point found"
        lines.append(
            f"- Kernel: `{kernel.source}`, {kernel.language}{'' if kernel.parsed else ' (did not parse; read by patterns)'}: {names}"
        )
        for label, facts in (
            ("Family", kernel.families[:2]),
            ("Data types", kernel.dtypes),
            ("Techniques present", kernel.techniques),
            ("Techniques missing", kernel.missing),
            ("Suspicious places", kernel.symptoms),
            ("Hardware features used", kernel.features),
            ("Instructions", kernel.instructions),
        ):
            if facts:
                lines.append(f"- {label}: {'; '.join(_merged(facts))}")
        if kernel.tiles:
            lines.append("- Constants: " + ", ".join(f"{name} = {value}" for name, value in sorted(kernel.tiles.items())))
        lines += [f"- Note: {note}" for note in kernel.notes]
    else:
        words = [f"{word}" for kind in ("families", "techniques", "bottlenecks") for word in situation.words(kind)]
        if words:
            lines.append(f"- Read as: {', '.join(words)}")
    lines += [f"- Note: {note}" for note in situation.notes]
    return "\n".join(lines)


def _merged(facts: tuple[Fact, ...]) -> list[str]:
    """Facts as `id (line n: why)`, those that differ in their line alone together."""
    lines: dict[tuple[str, str], list[int]] = {}
    for fact in facts:
        lines.setdefault((fact.id, fact.why), []).append(fact.line)
    return [f"{id} (line{'s' * (len(at) > 1)} {', '.join(map(str, at))}: {why})" for (id, why), at in lines.items()]


def gpu_text(gpu: Gpu | None, source: str) -> str:
    """The GPU's limits, or how to name one."""
    if gpu is None:
        return "## GPU\n\nNot named, so nothing is ranked or refused by GPU. Add `--gpu H200` (any product name, `9.0`, or `auto`)."
    capability, product = gpu.capability, gpu.product
    lines = [f"## GPU: {gpu.name} (sm_{gpu.sm}, {capability.architecture}{f', from {source}' if source else ''})", ""]
    if product:
        facts = [f"{product.sms} SMs" if product.sms else "", f"L2 {product.l2_bytes / 2**20:.0f} MiB" if product.l2_bytes else ""]
        if product.bandwidth_gbps:
            facts.append(f"{product.memory_type or 'memory'} {product.bandwidth_gbps:,.0f} GB/s")
        peaks = [f"{name} {value:g}" for name, value in product.peaks_tflops.items()]
        lines.append("- " + ", ".join(fact for fact in facts if fact))
        if peaks:
            lines.append(f"- Dense peaks (data sheet, TFLOP/s): {', '.join(peaks)}{_ridge(product)}")
    lines.append(
        f"- Per SM: {capability.warps_per_sm} warps, {capability.blocks_per_sm} blocks, {capability.registers_per_sm:,} registers, "
        f"{capability.smem_per_sm_bytes:,} bytes of shared memory ({capability.smem_per_block_bytes:,} a block)"
    )
    lines.append(f"- Features: {', '.join(capability.features)}")
    return "\n".join(lines)


def sources_text(gpu: Gpu, table: GpuTable) -> str:
    """Where each value of a GPU comes from."""
    lines = ["## Sources", ""]
    backed = {key: list(fields) for key, fields in gpu.product.sources.items()} if gpu.product else {}
    for key in gpu.capability.sources:
        backed.setdefault(key, []).append(f"compute capability {gpu.compute_capability}")
    for key, fields in backed.items():
        source = table.sources[key]
        place = "".join((f" ({source.revision})" if source.revision else "", f", {source.url}" if source.url else ""))
        lines.append(f"- {', '.join(fields)}: {source.title}{place}")
    if gpu.product and gpu.product.notes:
        lines += ["", gpu.product.notes]
    return "\n".join(lines)


def _ridge(product) -> str:
    peak = product.peaks_tflops.get("bf16") or product.peaks_tflops.get("fp16")
    if not peak or not product.bandwidth_gbps:
        return ""
    return f"; below {peak * 1000 / product.bandwidth_gbps:.0f} FLOP a byte a 16-bit tensor-core kernel is bound by memory"


LITTLE = 25.0
"""Per cent: a unit below it is hardly used, and a severity below it leaves most of the time unexplained. Our choice."""


def evidence_text(piece: Piece) -> str:
    """The metric in words where the guide has them, its value, and the comparison that it met: `DRAM throughput 82.4 % (>= 60)`."""
    return f"{piece.label or piece.metric + ' ='} {number(piece.value)} {piece.unit}".rstrip() + f" ({piece.op} {number(piece.threshold)})"


def pointer_text(item: Undecided) -> str:
    """`points to shared-bank-conflict: conflicts 93 % (>= 10); whether it matters needs` and the first metrics that are missing."""
    needed = ", ".join(item.metrics[:3]) + (f" and {len(item.metrics) - 3} more" if len(item.metrics) > 3 else "")
    return f"points to {item.bottleneck}: {'; '.join(evidence_text(piece) for piece in item.evidence)}; whether it matters needs {needed}"


def busiest_text(diagnosis: Diagnosis) -> str:
    """How busy the GPU was, where no fault explains it: `no unit is busier than 2.1 % (L2 throughput): its warps wait`; else empty."""
    if diagnosis.busiest is None or any((b.severity > LITTLE and not b.is_roof) or b.id == WELL_OPTIMIZED for b in diagnosis.bottlenecks):
        return ""
    unit, value = diagnosis.busiest
    if value < LITTLE:
        return f"no unit is busier than {number(value)} % ({unit}): warps wait, for what the stalls would tell"
    return f"the busiest unit that was read is at {number(value)} % ({unit})"


def shape_text(profile: Profile) -> str:
    """Grid and block from the kernel's line, else their sizes from the launch statistics; empty where neither is known."""
    if profile.grid and profile.block:
        return f"  grid {profile.grid}, block {profile.block}"
    blocks, threads = (profile.metrics.get(f"launch__{name}_size") for name in ("grid", "block"))
    return f"  {number(blocks.value)} blocks of {number(threads.value)} threads" if blocks and threads else ""


def read_text(profile: Profile, shown: int = 6) -> str:
    """What a report without usable data holds all the same: `read: NAME 15,785,216; NAME 32 sector/request and 3 more`."""
    metrics = [f"{name} {number(metric.value)} {metric.unit}".rstrip() for name, metric in profile.metrics.items()]
    return f"read: {shortened(metrics, shown, '; ')}" if metrics else "nothing was read"


def shortened(names: Iterable[str], shown: int = 8, between: str = ", ") -> str:
    """The first of them, and how many more."""
    names = [*names]
    return between.join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")


def diagnosis_text(diagnoses: tuple[Diagnosis, ...], *, heading: str = "## Diagnosis") -> str:
    """Bottlenecks with the metrics that triggered them, one block a kernel."""
    lines = [heading]
    for diagnosis in diagnoses:
        lines += ["", f"Kernel `{diagnosis.kernel}`:"]
        for bottleneck in diagnosis.bottlenecks:
            behind = f" (look at {bottleneck.because_of} first)" if bottleneck.because_of else ""
            behind = " (the roof, no fault)" if bottleneck.is_roof else behind
            evidence = "; ".join(evidence_text(piece) for piece in bottleneck.evidence)
            weak = f", weak evidence ({WEAK})" if bottleneck.weak else ""
            lines.append(f"- **{bottleneck.id}**, severity {bottleneck.severity:.0f}{behind}{weak}: {evidence}")
        if not diagnosis.bottlenecks:
            lines.append("- no signature of the guides holds")
        lines += [f"- {text}" for text in (busiest_text(diagnosis), *map(pointer_text, diagnosis.pointers)) if text]
        if diagnosis.missing:
            head = "provisional, since these are not decided" if diagnosis.is_provisional else "not decided"
            lines.append(f"- {head} for lack of metrics: {shortened(item.bottleneck for item in diagnosis.missing)}")
    return "\n".join(lines)


def number(value: float) -> str:
    """A number as a person reads it: no more than four significant digits, thousands grouped."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def hit_heading(hit: Hit) -> str:
    """Title, id, what it rests on and why it is here."""
    lines = [f"### {hit.record['title']}", "", f"- `{hit.id}` ({hit.path}:{hit.lines})"]
    if hit.applicability.status in ("adapt", "never"):
        lines.append(f"- **{hit.applicability.status}**: {hit.applicability.reason}")
    why = [reason for reason in hit.why if not reason.startswith(("adapt: ", "never: "))]
    return "\n".join([*lines, *([f"- Why: {'; '.join(why)}"] if why else [])])


def brief(hit: Hit) -> str:
    """Heading and summary; for an implementation its measured record too; an attempt in three lines."""
    if hit.kind == "attempt":
        return f"### {hit.record['title']}\n\n- `{hit.id}`: tried and slower: {hit.evidence.text}\n\n{hit.record['summary']}"
    text = f"{hit_heading(hit)}\n\n{hit.record['summary']}"
    if hit.kind == "zoo":
        text += timings_text(hit.evidence)
    if hit.kind == "pr":
        text += precedent_facts(hit.record)
    return text


def timings_text(proof: Evidence) -> str:
    """The measured record of an implementation as a table, or that there is none."""
    validation = proof.validation
    if not validation or not validation.get("timings"):
        return f"\n\nMeasured record: none ({proof.text})."
    rows = []
    names = sorted({name for timing in validation["timings"] for name in timing.get("baselines", {})})
    for timing in validation["timings"]:
        cells = [timing["case"], f"{timing['time_us']:.1f}", rate(timing, validation), f"{100 * timing['share_of_ceiling']:.0f} %"]
        for name in names:
            speedup = (timing.get("baselines", {}).get(name) or {}).get("speedup")
            cells.append(f"{speedup:.2f}x" if speedup else "-")
        rows.append(f"| {' | '.join(cells)} |")
    head = ["case", "time (us)", "rate", "of ceiling", *(f"vs {name}" for name in names)]
    table = "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *rows])
    ceilings = validation.get("ceilings", {})
    ceiling = ", ".join(
        f"{key.replace('_', ' ')} {value:,.0f}" for key, value in sorted(ceilings.items()) if isinstance(value, int | float)
    )
    return f"\n\nMeasured record ({proof.text}; ceilings of that run: {ceiling}):\n\n{table}"


def rate(timing: dict[str, Any], validation: dict[str, Any]) -> str:
    """The achieved rate in the unit of the operator's ceiling."""
    if "matmul_tflops" in validation.get("ceilings", {}):
        return f"{timing['tflops']:.0f} TFLOP/s"
    return f"{timing['gbps']:.0f} GB/s"


def precedent_facts(record: dict[str, Any]) -> str:
    """Repository, date, stated figures and later fate of a precedent, one line each."""
    number_text = f"#{record['number']}" if record.get("number") else record["commit"][:12]
    lines = [f"\n\n{record['repo']} {number_text}, merged {record['merged']}, {record['fate']['status']}"]
    if record["fate"].get("by"):
        lines[0] += f" (by {', '.join(record['fate']['by'])})"
    for figure in record.get("figures", ())[:2]:
        values = [f"{key} {number(figure[key])}" for key in ("before", "after", "ratio") if figure.get(key) is not None]
        lines.append(f"- stated: {figure['metric']}: {', '.join(values)} ({figure['conditions']})")
    return "\n".join(lines)


def page_body(root: Path, path: str) -> str:
    """The markdown of a page below its front matter, headings two levels deeper than in the file."""
    _, body, _ = split_front_matter((root / path).read_text(encoding="utf-8"), path)
    return deepen(body.strip(), 2)


def deepen(markdown: str, levels: int) -> str:
    """The markdown with its headings `levels` deeper, code fences untouched."""
    lines, fenced = [], False
    for line in markdown.splitlines():
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        lines.append("#" * levels + line if line.startswith("#") and not fenced else line)
    return "\n".join(lines)


def page_sections(body: str, names: tuple[str, ...]) -> str:
    """Those sections of a page body (as `page_body` gives it) whose heading starts with one of `names`."""
    parts = re.split(r"(?m)^(?=#### )", body)
    return "\n\n".join(part.strip() for part in parts if part.startswith("#### ") and part[5:].startswith(names))


def code_text(root: Path, record: dict[str, Any]) -> str:
    """Every source file of an implementation, whole, in fences."""
    page = root / record["location"].rsplit(":", 1)[0]
    parts = []
    for suffix in (".cu", ".py"):
        source = page.with_suffix(suffix)
        if source.is_file():
            where = source.relative_to(root).as_posix()
            parts.append(f"`{where}`:\n\n```{FENCES[suffix]}\n{source.read_text(encoding='utf-8').rstrip()}\n```")
    return "\n\n".join(parts)

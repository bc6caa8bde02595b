"""Answers as a person reads them in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from indexer.gpus import Gpu, GpuTable
from retriever.diagnosis import NO_USABLE_DATA, RAW_PAGE, Bottleneck, Diagnosed
from retriever.hot_lines import hot_lines_text
from retriever.inputs import maker_name, reading_gpu
from retriever.rank import Hit, Ranking
from retriever.render import busiest_text, evidence_text, pointer_text, read_text, shape_text, shortened
from retriever.reports.weak_form import is_weak
from retriever.weak_facts import WEAK, open_text, weak_lines

if TYPE_CHECKING:
    from indexer.build import Progress as ProgressFunction
    from retriever.evaluate import Evaluation

PIPED_WIDTH = 400  # columns where no terminal sets them: ids and reasons are data there, so no line is cut or wrapped
out = Console(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)
err = Console(stderr=True, highlight=False)

SLOW_STEPS = ("encoding", "exporting the encoder, once")
"""Worth a line on stderr where no bar can be drawn; the others take a second."""

STATUS_STYLES = {"runs": "green", "adapt": "yellow", "never": "red", "unknown": "dim"}


def print_markdown(text: str) -> None:
    """Markdown rendered with highlighted code on a terminal, as it is when piped."""
    if out.is_terminal:
        out.print(Markdown(text, code_theme="ansi_dark"))
    else:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")


def print_hits(ranking: Ranking, hits: tuple[Hit, ...], advice: list[str]) -> None:
    """Ranked hits, each with its reason."""
    if ranking.nothing_fits:
        out.print("[bold]Nothing here fits.[/] Nearest misses, for what they are:")
    for place, hit in enumerate(hits, start=1):
        head = Text(f"{place:>2}. ")
        head.append(hit.record["title"], style="bold")
        head.append(f"  {hit.score:.2f}", style="dim")
        if hit.applicability.status != "unknown":
            head.append(f"  {hit.applicability.status}", style=STATUS_STYLES[hit.applicability.status])
        out.print(head)
        out.print(Text(f"    {hit.id}", style="cyan"), Text(f"{hit.path}:{hit.lines}", style="dim"))
        for reason in hit.why:
            out.print(Text(f"    - {reason}"))
    for line in advice:
        out.print(Text(line, style="dim"))


def print_diagnoses(pairs: tuple[Diagnosed, ...], gpus: list[Gpu | None]) -> None:
    """Each kernel's bottlenecks as a list: the one to work on first, its evidence a line a metric, and the first cures."""
    for note in dict.fromkeys(diagnosis.gpu_note for _, diagnosis in pairs if diagnosis.gpu_note):
        out.print(Text(f"! {note}", style="yellow"), soft_wrap=True)
    for (profile, diagnosis), named in zip(pairs, gpus):
        gpu = reading_gpu(profile, named)
        maker = maker_name(profile, named) or "GPU not named"
        out.print(Text(diagnosis.kernel, style="bold") + Text(f"  {maker}{shape_text(profile)}", style="dim"))
        for line in weak_lines(profile, gpu):
            out.print(Text(f"  {line}", style="dim"), soft_wrap=True)
        for place, bottleneck in enumerate(diagnosis.bottlenecks, start=1):
            out.print(Text(f"{place:>3}. ") + Text(bottleneck.id, style="bold") + Text(f"  {severity_text(bottleneck)}"))
            if bottleneck.bound and not bottleneck.weak and place == 1:
                out.print(Text(f"     {bottleneck.bound}", style="dim"), soft_wrap=True)
            for piece in bottleneck.evidence:
                out.print(Text(f"     - {evidence_text(piece)}"))
            if bottleneck.open_causes:
                out.print(Text(f"     may come from {shortened(bottleneck.open_causes)}: this report cannot say", style="yellow"))
            if bottleneck.cures and not bottleneck.is_roof:
                out.print(Text(f"     try: {', '.join(bottleneck.cures[:3])}", style="cyan"))
        if not diagnosis.bottlenecks:
            out.print("  no signature of the guides holds")
        for line in hot_lines_text(profile):
            out.print(Text(f"  {line}", style="dim"))
        if is_weak(profile):
            out.print(Text(f"  {open_text(diagnosis)}", style="dim"), soft_wrap=True)
            out.print()
            continue
        if any(bottleneck.id == NO_USABLE_DATA for bottleneck in diagnosis.bottlenecks):
            out.print(Text(f"     {read_text(profile)}", style="dim"), soft_wrap=True)
        for text in filter(None, (busiest_text(diagnosis), *map(pointer_text, diagnosis.pointers))):
            out.print(Text(f"  {text}", style="yellow"), soft_wrap=True)
        if diagnosis.missing:
            head = "provisional, since these are not decided" if diagnosis.is_provisional else "not decided"
            out.print(Text(f"  {head}: {shortened(item.bottleneck for item in diagnosis.missing)}", style="dim"))
        if diagnosis.collect_next:
            whole = diagnosis.collect_next == RAW_PAGE
            step = "every section is there; print its metrics: ncu --import REPORT.ncu-rep" if whole else "collect next: ncu"
            out.print(Text(f"  {step} {diagnosis.collect_next}", style="dim"), soft_wrap=True)
        out.print()


def severity_text(bottleneck: Bottleneck) -> str:
    """What curing it could save: `at most 38 % of the time`. What caps that is its bound, given here where the evidence is weak."""
    if bottleneck.id == NO_USABLE_DATA:
        return ""
    basis = f"weak ({WEAK}): " if bottleneck.weak else ""
    if bottleneck.is_roof:
        return f"{basis}the roof, no fault: {bottleneck.severity:.0f} % of the time"
    if bottleneck.weak and not bottleneck.severity:
        return f"{basis}it is there; what it costs needs a time or counters"
    behind = f" (look at {bottleneck.because_of} first)" if bottleneck.because_of else ""
    bound = f"; {bottleneck.bound}" if bottleneck.weak and bottleneck.bound else ""
    return f"{basis}at most {bottleneck.severity:.0f} % of the time{behind}{bound}"


def print_gpu_table(table: GpuTable) -> None:
    """All products, one row each."""
    view = Table(header_style="bold", box=None, padding=(0, 1))
    for column in ("id", "product", "CC", "SMs", "L2 MiB", "memory", "GB/s", "bf16", "fp32"):
        view.add_column(column, justify="left" if column in ("id", "product", "memory") else "right", no_wrap=True)
    for id, product in table.gpus.items():
        memory = f"{product.memory_bytes / 1e9:.0f} GB" if product.memory_bytes else "-"
        view.add_row(
            id,
            product.name,
            product.compute_capability,
            str(product.sms or "-"),
            f"{product.l2_bytes / 2**20:.0f}" if product.l2_bytes else "-",
            f"{memory} {product.memory_type or ''}".strip(),
            f"{product.bandwidth_gbps:,.0f}" if product.bandwidth_gbps else "-",
            *(f"{product.peaks_tflops[key]:g}" if key in product.peaks_tflops else "-" for key in ("bf16", "fp32")),
        )
    out.print(view)
    out.print(Text("Peaks are dense TFLOP/s by the data sheet. `warplore gpu NAME` shows one with its sources.", style="dim"))


def print_evaluation(evaluation: Evaluation) -> None:
    """Quality by group of questions, then by ranker."""
    parts = (
        ("questions", evaluation.groups),
        ("ranker, all questions", evaluation.rankers),
        ("ranker, held out", evaluation.rankers_held_out),
    )
    for title, rows in parts:
        view = Table(header_style="bold", box=None, padding=(0, 1))
        for column in (title, "asked", "recall@5", "ndcg@10", "mrr", "leaked"):
            view.add_column(column, justify="left" if column == title else "right", no_wrap=True)
        for row in rows:
            values = (f"{value:.3f}" for value in (row.recall_at_5, row.ndcg_at_10, row.mrr))
            view.add_row(row.group, str(row.questions), *values, str(row.leakage))
        out.print(view)
        out.print()
    out.print(f"refusals {evaluation.refusal_accuracy:.0%} of {evaluation.refusals}; wrongly refused {len(evaluation.wrongly_refused)}")


@contextmanager
def progress_reporter() -> Iterator[ProgressFunction]:
    """A progress bar on a terminal's stderr; one line a step elsewhere."""
    if not err.is_terminal:
        seen: set[str] = set()

        def report(step: str, done: int, total: int) -> None:
            if step in SLOW_STEPS and step not in seen:
                seen.add(step)
                print(f"warplore: {step}" + (f" ({total})" if total > 1 else ""), file=sys.stderr, flush=True)

        yield report
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        tasks: dict[str, object] = {}

        def report_bar(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bar.add_task(step, total=total)
            bar.update(tasks[step], completed=done, total=total)  # type: ignore[arg-type]

        yield report_bar

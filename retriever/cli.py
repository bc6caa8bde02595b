"""The command line. Data goes to stdout, progress and problems to stderr.

Heavy imports stand inside the commands, so that `--help` and shell completion load no model.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from retriever.cli_isa import isa_app
from retriever.cli_options import Corpus, Encoder, GpuArgument, GpuName, Json, Store
from retriever.cli_options import opened as _open
from retriever.cli_options import print_json as _print_json
from retriever.cli_typed import Block, Bytes, Dtype, Flops, Grid, Ptxas, Registers, Smem, TimeUs, ZooCase
from retriever.cli_zoo import zoo_app

EXIT_CODES = "Exit codes: 0 done (no hits is a result), 1 problems found, 2 wrong usage or unusable input, 3 index missing."

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help=f"Knowledge base of GPU-kernel optimisation: proven kernels, guides, instructions, precedents, ranked for your GPU. {EXIT_CODES}",
)
index_app = typer.Typer(no_args_is_help=True, help="The search index: build it, or see its state.")
skills_app = typer.Typer(no_args_is_help=True, help="Agent Skills that teach an agent to use Warplore.")

app.add_typer(isa_app, name="isa")
app.add_typer(index_app, name="index")
app.add_typer(zoo_app, name="zoo")
app.add_typer(skills_app, name="skills")


def _record_ids(incomplete: str) -> list[str]:
    from indexer.corpus import corpus_files, record_id
    from indexer.locations import corpus_root

    root = corpus_root()
    ids = (record_id(root, kind, path) for kind, path in corpus_files(root))
    return [id for id in ids if id.startswith(incomplete)]


Kernel = Annotated[
    str | None, typer.Option("--kernel", help="Source of the kernel (CUDA C++, Triton), or a PTX or SASS listing; - reads stdin.")
]
Ncu = Annotated[str | None, typer.Option("--ncu", help="Nsight Compute report: .ncu-rep, CSV or console text, also packed; - reads stdin.")]
KernelName = Annotated[str | None, typer.Option("--kernel-name", help="Only launches of the report whose name has this text or regex.")]


@app.command()
def context(
    kernel: Kernel = None,
    gpu: GpuName = None,
    ncu: Ncu = None,
    ask: Annotated[str, typer.Option("--ask", help="What you want, in words (English or Chinese).")] = "",
    budget: Annotated[int, typer.Option("--budget", help="Most tokens of the answer; a token is counted as 3 bytes.", min=1)] = 12_000,
    kernel_name: KernelName = None,
    as_json: Json = False,
    corpus: Corpus = None,
    store: Store = None,
    encoder: Encoder = None,
) -> None:
    """One ranked, cited pack: proven code, guides, instructions, precedents, what to measure next. Any one input is enough.

    Example: warplore context --kernel softmax.cu --gpu H200 --ncu report.csv --ask "why is it slow?" --budget 8000
    """
    from retriever.json_forms import context_json
    from retriever.terminal import print_markdown

    with _open(corpus, store, encoder) as core:
        situation = core.situation(ask, kernel, gpu, ncu, kernel_name)
        pack = core.context(situation, budget)
    if as_json:
        _print_json(context_json(situation, pack))
    else:
        print_markdown(pack.text)


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="The question, in words.")] = "",
    gpu: GpuName = None,
    kernel: Kernel = None,
    ncu: Ncu = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="Only one kind: zoo, attempt, technique, guide, hardware, isa, pr, skill.")
    ] = None,
    count: Annotated[int, typer.Option("-k", "--count", help="Hits to show.", min=1, max=100)] = 8,
    all_gpus: Annotated[bool, typer.Option("--all", help="Also what can never run on the GPU.")] = False,
    as_json: Json = False,
    corpus: Corpus = None,
    store: Store = None,
    encoder: Encoder = None,
) -> None:
    """Ranked entries for a question, a kernel or a report, each with its reason.

    Example: warplore search "shared memory bank conflicts in a transpose" --gpu A100
    """
    from indexer.errors import InputError, did_you_mean
    from indexer.records import KIND_TITLES
    from retriever.isa_overlay import own_sections
    from retriever.json_forms import search_json
    from retriever.rank import mix_kinds, search_advice
    from retriever.terminal import print_hits

    if kind and kind not in KIND_TITLES:
        raise InputError(f'--kind "{kind}" is not a kind{did_you_mean(kind, list(KIND_TITLES)) or ";"} one of: {", ".join(KIND_TITLES)}')
    with _open(corpus, store, encoder) as core:
        situation = core.situation(text, kernel, gpu, ncu)
        ranking = core.rank(situation, include_never=all_gpus)
    chosen = tuple(hit for hit in ranking.hits if not kind or hit.kind == kind)
    hits = chosen[:count] if kind else mix_kinds(chosen, 3 if ranking.nothing_fits else count)
    advice = search_advice(situation, ranking, hits)
    own = own_sections(text) if kind == "isa" else []
    if as_json:
        _print_json(search_json(situation, ranking, hits, advice) | ({"own_copy": own} if own else {}))
    else:
        print_hits(ranking, hits, advice)
        for section in own:
            print(f'{section["label"]}: "{section["title"]}" (#{section["anchor"]})')


@app.command()
def diagnose(
    report: Annotated[
        str | None,
        typer.Argument(
            help="Nsight Compute report (.ncu-rep, CSV or console text, also packed), or an input without counters; - reads stdin."
        ),
    ] = None,
    kernel_name: KernelName = None,
    vs: Annotated[
        str | None, typer.Option("--vs", help="A later report of the same kernel: what moved, what did not, what is next.")
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="What to collect next, and the exact ncu command; needs no report.")] = False,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the report to this .png, .svg or .pdf; needs warplore[plot].")] = None,
    kernel: Kernel = None,
    ptxas: Ptxas = None,
    grid: Grid = None,
    block: Block = None,
    smem: Smem = None,
    registers: Registers = None,
    time_us: TimeUs = None,
    bytes: Bytes = None,
    flops: Flops = None,
    dtype: Dtype = None,
    case: ZooCase = None,
    gpu: GpuName = None,
    as_json: Json = False,
    corpus: Corpus = None,
) -> None:
    """The bottlenecks that a report shows, with the metrics that triggered each, and what to collect next.

    With --vs the report given first is the one before, and --kernel-name OLD=NEW pairs kernels of two names.

    Where counters are denied, the report may be the output of ptxas -v, cuobjdump --dump-resource-usage, nsys stats, nvprof (its
    summary), torch.profiler (table or trace) or Triton's metadata. Answers from them are marked weak. Typed values add to any report, or
    stand alone.

    Example: warplore diagnose report.csv --kernel-name softmax

    Example: warplore diagnose before.csv --vs after.csv --plot change.png

    Example: warplore diagnose build.log --kernel-name softmax --gpu H200 --grid 8192 --block 256 --time-us 41 --bytes 134217728
    """
    from retriever.cli_diagnose import Asked, run
    from retriever.typed_facts import Typed

    typed = Typed(ptxas, grid, block, smem, registers, time_us, bytes, flops, dtype, case)
    with _open(corpus) as core:
        run(core, Asked(report, kernel_name, vs, plan, plot, kernel, gpu, as_json, typed))


@app.command()
def show(
    id: Annotated[str, typer.Argument(help="Id of an entry, as every answer prints it.", autocompletion=_record_ids)],
    as_json: Json = False,
    corpus: Corpus = None,
) -> None:
    """One entry whole: its page, and for an implementation its code and measured record.

    Example: warplore show zoo/softmax/triton_rowwise
    """
    from retriever.show import show_json, show_text
    from retriever.terminal import print_markdown

    with _open(corpus) as core:
        record = core.entry(id)
        form = show_json(core.root, record, core.guides) if as_json else None
        text = show_text(core.root, record, core.guides)
    if form is not None:
        _print_json(form)
    else:
        print_markdown(text)


@app.command()
def gpu(
    name: GpuArgument = None,
    as_json: Json = False,
    corpus: Corpus = None,
) -> None:
    """Limits, bandwidth, peaks and features of a GPU, each with its source; without a name, all of them.

    Example: warplore gpu "RTX 4090"
    """
    from retriever.inputs import find_gpu
    from retriever.json_forms import SCHEMA, gpu_json
    from retriever.render import gpu_text, sources_text
    from retriever.terminal import print_gpu_table, print_markdown

    with _open(corpus) as core:
        table = core.gpus
        found = find_gpu(name, table) if name else None
    if as_json:
        forms = [gpu_json(found)] if found else [gpu_json(find_gpu(id, table)) for id in table.gpus]
        _print_json({"schema": SCHEMA, "gpus": forms})
    elif found:
        print_markdown(f"{gpu_text(found, '')}\n\n{sources_text(found, table)}")
    else:
        print_gpu_table(table)


@app.command("eval")
def evaluate_queries(
    file: Annotated[Path | None, typer.Argument(help="Judged questions in YAML; without one, those of the checkout.")] = None,
    reports: Annotated[bool, typer.Option("--reports", help="The diagnosis on the labelled reports instead.")] = False,
    as_json: Json = False,
    corpus: Corpus = None,
    store: Store = None,
    encoder: Encoder = None,
) -> None:
    """Retrieval quality over judged questions: recall@5, ndcg@10, MRR, wrong-architecture hits, refusals; by kind and by ranker.

    With --reports: how often the diagnosis names what was planted in the labelled kernels, by export form, and every kernel it gets wrong.

    Example: warplore eval tests/data/queries.yaml
    """
    if reports:
        _evaluate_reports(as_json, corpus)
        return
    from retriever.evaluate import DEFAULT_QUERIES, evaluate, evaluation_json, load_queries
    from retriever.json_forms import SCHEMA
    from retriever.terminal import print_evaluation

    with _open(corpus, store, encoder) as core:
        evaluation = evaluate(core, load_queries(file or core.root / DEFAULT_QUERIES))
    if as_json:
        _print_json({"schema": SCHEMA, **evaluation_json(evaluation)})
    else:
        print_evaluation(evaluation)


def _evaluate_reports(as_json: bool, corpus: Path | None) -> None:
    from retriever.evaluate_reports import evaluate_reports, report_evaluation_json
    from retriever.json_forms import SCHEMA
    from retriever.terminal_reports import print_report_evaluation

    with _open(corpus) as core:
        found = report_evaluation_json(evaluate_reports(core.root, core.guides))
    if as_json:
        _print_json({"schema": SCHEMA, **found})
    else:
        print_report_evaluation(found)


@app.command()
def check(as_json: Json = False, corpus: Corpus = None) -> None:
    """Everything wrong with the corpora, as path:line: message; exit code 1 when there is something.

    Example: warplore check
    """
    from retriever.check import check_corpus
    from retriever.json_forms import SCHEMA

    with _open(corpus) as core:
        problems, files = check_corpus(core.root)
    if as_json:
        _print_json({"schema": SCHEMA, "files": files, "problems": problems})
    else:
        print(*problems, sep="\n", end="\n" if problems else "")
        print(f"{files} files read, {len(problems)} problem{'s' * (len(problems) != 1)}")
    if problems:
        raise typer.Exit(1)


@index_app.command("build")
def index_build(
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute every vector anew.")] = False,
    as_json: Json = False,
    corpus: Corpus = None,
    store: Store = None,
    encoder: Encoder = None,
) -> None:
    """Bring the index up to date. A killed build leaves the old index usable.

    Example: warplore index build
    """
    from retriever.json_forms import SCHEMA

    with _open(corpus, store, encoder) as core:
        result = core.build(fresh=fresh)
    if as_json:
        _print_json(
            {
                "schema": SCHEMA,
                "records": result.records,
                "chunks": result.chunks,
                "encoded": result.encoded,
                "problems": list(result.problems),
            }
        )
    else:
        print(f"{result.records} records, {result.chunks} chunks, {result.encoded} newly encoded: {core.index_folder}")
        for problem in result.problems:
            print(f"left out: {problem}", file=sys.stderr)
    if result.problems:
        raise typer.Exit(1)


@index_app.command("status")
def index_status(as_json: Json = False, corpus: Corpus = None, store: Store = None, encoder: Encoder = None) -> None:
    """Whether the index is there, whole and up to date; exit code 3 when it is not.

    Example: warplore index status
    """
    from retriever.json_forms import SCHEMA

    with _open(corpus, store, encoder) as core:
        status = core.status()
    if as_json:
        form = {"folder": str(status.folder), "state": status.state, "detail": status.detail}
        _print_json({"schema": SCHEMA, **form, "records": status.records, "chunks": status.chunks, "encoder": status.encoder})
    else:
        print(f"{status.state}: {status.detail}", f"{status.records} records, {status.chunks} chunks", sep="\n")
        print(f"encoder {status.encoder or '-'}", status.folder, sep="\n")
    if status.state != "fresh":
        raise typer.Exit(3)


@skills_app.command("install")
def skills_install(
    folder: Annotated[Path, typer.Argument(help="Where the agent looks for skills, for example .claude/skills.")],
    force: Annotated[bool, typer.Option("--force", help="Replace skills of the same name.")] = False,
    as_json: Json = False,
    corpus: Corpus = None,
) -> None:
    """Copy the Agent Skills into a folder.

    Example: warplore skills install .claude/skills
    """
    from indexer.locations import corpus_root
    from retriever.json_forms import SCHEMA
    from retriever.skills import install_skills

    installed = install_skills(corpus_root(corpus), folder, force=force)
    if as_json:
        _print_json({"schema": SCHEMA, "installed": [str(path) for path in installed]})
    else:
        print(*(f"installed {path}" for path in installed), sep="\n")


def main() -> None:
    """Run the command line; every WarploreError becomes one message and its exit code."""
    from indexer.errors import WarploreError

    try:
        app()
    except WarploreError as error:
        print(f"warplore: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def run() -> None:
    """The installed command: `main`, then out at once. Taking Chroma's modules and threads apart costs 0.2 s and serves nobody."""
    code: object = 0
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]  # the same bytes under any locale
    try:
        main()
    except SystemExit as stop:
        code = stop.code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else bool(code))

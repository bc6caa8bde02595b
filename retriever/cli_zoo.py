"""The zoo's commands: list, validate, new, champions, lineage, wrong. Heavy imports stand inside them, as in `retriever.cli`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from retriever.cli_options import Corpus, GpuName, Json, opened, print_json

zoo_app = typer.Typer(no_args_is_help=True, help="The kernels that a GPU has proved: see them, judge one, add one.")


def _operators(incomplete: str) -> list[str]:
    from indexer.locations import corpus_root
    from kernel_wiki.harness.discover import operators

    return [name for name in operators(corpus_root() / "kernel_wiki" / "zoo") if name.startswith(incomplete)]


def _implementations(incomplete: str) -> list[str]:
    from indexer.locations import corpus_root
    from kernel_wiki.harness.discover import implementations, operators

    zoo = corpus_root() / "kernel_wiki" / "zoo"
    names = [*operators(zoo), *(entry.id for operator in operators(zoo) for entry in implementations(operator, zoo))]
    return [name for name in names if name.startswith(incomplete.removeprefix("zoo/"))]


Operator = Annotated[str | None, typer.Argument(help="Name of an operator; without one, all.", autocompletion=_operators)]


@zoo_app.command("list")
def zoo_list(gpu: GpuName = None, as_json: Json = False, corpus: Corpus = None) -> None:
    """Every implementation with its languages, targets and what proves it; imports no kernel.

    Example: warplore zoo list --gpu H200
    """
    from retriever.inputs import find_gpu
    from retriever.json_forms import SCHEMA
    from retriever.terminal_zoo import print_zoo
    from retriever.zoo import zoo_rows

    with opened(corpus) as core:
        named = find_gpu(gpu, core.gpus) if gpu else None
        rows = zoo_rows(core, named)
    if as_json:
        print_json({"schema": SCHEMA, "implementations": rows})
    else:
        print_zoo(rows, named)


@zoo_app.command("validate")
def zoo_validate(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT|PATH",
            help="OPERATOR/IMPLEMENTATION, an operator, all, or a .py file.",
            autocompletion=_implementations,
        ),
    ],
    operator: Annotated[
        str | None, typer.Option("--operator", help="Whose contract judges a file outside the zoo.", autocompletion=_operators)
    ] = None,
    gpu: Annotated[str, typer.Option("--gpu", help="auto, or a GPU: where it is not here, its limits are read and nothing runs.")] = "auto",
    device: Annotated[str, typer.Option("--device", help="cuda, or cpu: small cases of a Triton kernel in the interpreter.")] = "cuda",
    rounds: Annotated[int, typer.Option("--rounds", help="Interleaved timing rounds.", min=3)] = 30,
    out: Annotated[Path | None, typer.Option("--out", help="Write records below this folder instead of the zoo.")] = None,
    replay: Annotated[Path | None, typer.Option("--replay", help="Run only this failing case, saved by an earlier run.")] = None,
    host: Annotated[str | None, typer.Option("--host", help="Run on user@machine over ssh; it needs Python, torch, the toolkit.")] = None,
    remote_python: Annotated[str, typer.Option("--remote-python", help="The interpreter there that has torch.")] = "python3",
    as_json: Json = False,
    corpus: Corpus = None,
) -> None:
    """Judge candidates: against the float64 reference, then against the baselines, the parent and the champion. Exit code 0: all accepted.

    An accepted entry of the zoo gets its record; a file elsewhere gets its verdict, and a record only with --out.

    Example: warplore zoo validate softmax/triton_rowwise

    Example: warplore zoo validate mine.py --operator softmax --host user@machine
    """
    from retriever.json_forms import SCHEMA
    from retriever.terminal_zoo import print_answers
    from retriever.zoo_validate import Request, validate

    request = Request(gpu, device, rounds, operator, out, replay, host, remote_python)
    with opened(corpus) as core:
        answers = validate(core, what, request, lambda line: print(line, file=sys.stderr, flush=True))
    if as_json:
        print_json({"schema": SCHEMA, "results": answers})
    else:
        print_answers(answers)
    if any(answer["verdict"] != "accepted" for answer in answers):
        raise typer.Exit(1)


@zoo_app.command("new")
def zoo_new(
    name: Annotated[str, typer.Argument(help="OPERATOR/IMPLEMENTATION, or a new OPERATOR.")],
    language: Annotated[str | None, typer.Option("--language", help="triton or cuda; a name that starts so says it.")] = None,
    parent: Annotated[str | None, typer.Option("--parent", help="What it improves on, or none; the present champion by default.")] = None,
    family: Annotated[str | None, typer.Option("--family", help="Family of a new operator, a word of the vocabulary.")] = None,
    bound: Annotated[str | None, typer.Option("--bound", help="What limits a new operator: bandwidth or matrix.")] = None,
    dtypes: Annotated[str | None, typer.Option("--dtypes", help="Dtypes, between commas.")] = None,
    impl: Annotated[str | None, typer.Option("--impl", help="Name of a new operator's first implementation.")] = None,
    wrong: Annotated[list[str] | None, typer.Option("--wrong", help="Name of a wrong variant of a new operator; repeat it.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing: take the defaults.")] = False,
    as_json: Json = False,
    corpus: Corpus = None,
) -> None:
    """Scaffold an implementation, or an operator with a contract, one implementation and wrong variants. Overwrites nothing.

    Example: warplore zoo new softmax/triton_two_rows

    Example: warplore zoo new layernorm --family norm --language cuda
    """
    import datetime

    from retriever.json_forms import SCHEMA
    from retriever.service import Warplore
    from retriever.zoo_new import WRONG, Answers, scaffold, write

    def ask(option: str, question: str, default: str | None) -> str | None:
        if yes or not sys.stdin.isatty():
            return default
        return str(typer.prompt(f"{question} [{option}]", default=default, err=True))

    answers = Answers(language, parent, family, bound, dtypes, impl, tuple(wrong or WRONG))
    made = scaffold(Warplore(corpus), name, answers, ask, datetime.date.today())  # not `opened`: a progress bar would write over questions
    paths = write(made)
    if as_json:
        print_json({"schema": SCHEMA, "created": [str(path) for path in paths], "next": list(made.next)})
    else:
        print(*(f"created {path}" for path in paths), "", "next:", *(f"  {step}" for step in made.next), sep="\n")


@zoo_app.command("champions")
def zoo_champions(operator: Operator = None, gpu: GpuName = None, as_json: Json = False, corpus: Corpus = None) -> None:
    """Who is fastest in each timed case, by how much over the next, and against the best baseline of its run.

    Only accepted records of the present sources count. They come from different runs: compared is each time relative to the ceiling that
    its own run measured, so that clocks cancel. Closer than the two spreads is level.

    Example: warplore zoo champions softmax --gpu H200
    """
    from retriever.champions import champions_form
    from retriever.inputs import find_gpu
    from retriever.json_forms import SCHEMA
    from retriever.terminal_zoo import print_champions

    with opened(corpus) as core:
        form = champions_form(core, operator, find_gpu(gpu, core.gpus) if gpu else None)
    if as_json:
        print_json({"schema": SCHEMA, **form})
    else:
        print_champions(form)


@zoo_app.command("lineage")
def zoo_lineage(
    operator: Annotated[str, typer.Argument(help="Name of an operator.", autocompletion=_operators)],
    as_json: Json = False,
    corpus: Corpus = None,
) -> None:
    """Which implementation improves on which, and by how much where one run measured both.

    Example: warplore zoo lineage gemm
    """
    from retriever.json_forms import SCHEMA
    from retriever.lineage import lineage, tree_text
    from retriever.zoo import known_operator, zoo_folder

    with opened(corpus) as core:
        zoo, name = zoo_folder(core), known_operator(core, operator)
    if as_json:
        print_json({"schema": SCHEMA, "operator": name, "implementations": lineage(name, zoo)})
    else:
        print(tree_text(name, zoo))


@zoo_app.command("wrong")
def zoo_wrong(operator: Operator = None, as_json: Json = False, corpus: Corpus = None) -> None:
    """The candidates that must be rejected: what each does wrong, what must be found, and what each GPU's record found.

    Example: warplore zoo wrong softmax
    """
    from retriever.json_forms import SCHEMA
    from retriever.terminal_zoo import print_wrong
    from retriever.zoo import known_operator, zoo_folder
    from retriever.zoo_wrong import wrong_rows

    with opened(corpus) as core:
        rows = wrong_rows(zoo_folder(core), known_operator(core, operator) if operator else None)
    if as_json:
        print_json({"schema": SCHEMA, "variants": rows})
    else:
        print_wrong(rows)

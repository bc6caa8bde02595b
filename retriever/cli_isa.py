"""The `isa` commands: look-up, comparison of targets, what a kernel leaves unused, verification, a user's own manual."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from retriever.cli_layouts import register
from retriever.cli_options import Corpus, GpuName, Json, opened, print_json

ISA_HELP = "A PTX instruction: exact look-up, modifiers allowed. Example: warplore isa wgmma.mma_async --gpu A100"


class _NameOrCommand(typer.core.TyperGroup):
    """A group whose first word may also be the argument of its `show` command: `isa cp.async` is `isa show cp.async`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:
        if "--help" not in args[:1] and (not args or args[0] not in self.commands):
            args = ["show", *args]
        return super().parse_args(ctx, args)


isa_app = typer.Typer(cls=_NameOrCommand, help=ISA_HELP)
register(isa_app)


@isa_app.command("show", hidden=True, help=ISA_HELP)
def isa_show(
    name: Annotated[str | None, typer.Argument(help="Mnemonic, with or without modifiers, or a glob; without one, all of them.")] = None,
    gpu: GpuName = None,
    as_json: Json = False,
    corpus: Corpus = None,
) -> None:
    from retriever import isa_lookup as lookup
    from retriever.inputs import find_gpu
    from retriever.isa_modifiers import load_glossary
    from retriever.isa_overlay import copy_text, data_folder, load_manual, sections_on
    from retriever.isa_record import verified_or_none
    from retriever.json_forms import SCHEMA
    from retriever.terminal import print_markdown

    with opened(corpus) as core:
        entries = list(core.entries("isa"))
        named = find_gpu(gpu, core.gpus) if gpu else None
        one = name is not None and not lookup.is_glob(name)
        found = [lookup.look_up(name, entries, load_glossary(core.root))] if one else lookup.matching(name, entries) if name else entries
        record = verified_or_none(core.root)
        own = sections_on(lookup.mnemonics(found[0]), load_manual(data_folder())) if one else []
    spelled = name if one and name else ""
    if as_json:
        forms = [lookup.isa_json(entry, named, core.root, record, spelled, entries) for entry in found]
        print_json(
            {"schema": SCHEMA, "instructions": forms, "own_copy": [{"anchor": s.anchor, "title": s.title, "text": s.text} for s in own]}
        )
    elif one:
        text = lookup.isa_text(found[0], named, core.root, entries, record, spelled)
        print_markdown("\n\n".join(filter(None, (text, copy_text(own)))))
    else:
        print_markdown(lookup.isa_list_text(found, named, record))


@isa_app.command("diff")
def isa_diff(
    before: Annotated[str, typer.Argument(help="Target (sm_90a), compute capability or product.")],
    after: Annotated[str, typer.Argument(help="The other one.")],
    as_json: Json = False,
    corpus: Corpus = None,
) -> None:
    """What a second target has that the first lacks, what is gone, and what accepts other forms.

    Example: warplore isa diff sm_90a sm_100a
    """
    from retriever.isa_diff import diff, diff_json, diff_text, target_of
    from retriever.isa_record import read_verified
    from retriever.json_forms import SCHEMA
    from retriever.terminal import print_markdown

    with opened(corpus) as core:
        one, other = target_of(before, core.gpus), target_of(after, core.gpus)
        changes = diff(one, other, list(core.entries("isa")), read_verified(core.root), core.root)
    if as_json:
        print_json({"schema": SCHEMA, **diff_json(one, other, changes)})
    else:
        print_markdown(diff_text(one, other, changes))


@isa_app.command("unused")
def isa_unused(
    kernel: Annotated[str, typer.Option("--kernel", help="Source or listing (CUDA C++, Triton, PTX, SASS); - reads stdin.")],
    gpu: Annotated[str, typer.Option("--gpu", help="Product name, compute capability, or auto.")],
    count: Annotated[int, typer.Option("-k", "--count", help="Rows to show.", min=1)] = 8,
    as_json: Json = False,
    corpus: Corpus = None,
) -> None:
    """What this GPU has and the kernel does not use, though kernels of its kind profit from it.

    Example: warplore isa unused --kernel gemm.cu --gpu H200
    """
    from retriever.inputs import find_gpu
    from retriever.isa_record import verified_or_none
    from retriever.isa_unused import unused, unused_json, unused_text
    from retriever.json_forms import SCHEMA
    from retriever.terminal import print_markdown

    with opened(corpus) as core:
        named = find_gpu(gpu, core.gpus)
        facts = core.read_kernel(kernel)
        entries, zoo = list(core.entries("isa")), list(core.entries("zoo"))
        answer = unused(facts, named, entries, zoo, core.root, core.vocabulary, verified_or_none(core.root))
    if as_json:
        print_json({"schema": SCHEMA, **unused_json(answer, facts, named, count)})
    else:
        print_markdown(unused_text(answer, facts, named, count))


@isa_app.command("import")
def isa_import(
    file: Annotated[Path, typer.Argument(help="HTML of NVIDIA's PTX ISA manual that you saved yourself.")],
    as_json: Json = False,
) -> None:
    """Read your own copy of the PTX ISA manual into a private folder; look-ups quote it beside our pages. Nothing leaves this machine.

    Example: warplore isa import ptx-isa.html
    """
    from retriever.isa_overlay import FILE_NAME, data_folder, import_manual
    from retriever.json_forms import SCHEMA

    folder = data_folder()
    sections = import_manual(file, folder)
    if as_json:
        print_json({"schema": SCHEMA, "sections": len(sections), "file": str(folder / FILE_NAME)})
    else:
        print(f"{len(sections)} sections kept in {folder / FILE_NAME}, readable by you alone; delete the file to forget them")


@isa_app.command("verify")
def isa_verify(
    names: Annotated[list[str] | None, typer.Argument(help="Ids or mnemonics; without one, every entry.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write isa/verified.json when every claim holds.")] = False,
    as_json: Json = False,
    corpus: Corpus = None,
) -> None:
    """Assemble every example for every target with each ptxas at hand; compare with the pages and with isa/verified.json.

    Example: warplore isa verify cp.async
    """
    from retriever.isa_lookup import look_up
    from retriever.isa_verify import verify
    from retriever.json_forms import SCHEMA

    with opened(corpus) as core:
        entries = list(core.entries("isa")) if names else []
        only = [look_up(name, entries).id for name in names] if names else None
        found = verify(core.root, write=write, only=only, progress=lambda done, total: core.progress("assembling", done, total))
    tools = {"assemblers": found.record["assemblers"], "nvdisasm": found.record["nvdisasm"]}
    if as_json:
        counts = {"examples": found.examples, "answers": found.answers, "runs": found.runs, "skipped": found.skipped}
        print_json({"schema": SCHEMA, **tools, **counts, "problems": found.problems})
    else:
        print(*found.problems, sep="\n", end="\n" if found.problems else "")
        said = f"{found.examples} examples, {found.answers} verdicts in {found.runs} runs of ptxas {', '.join(tools['assemblers'])}"
        machine = f"machine code by nvdisasm {tools['nvdisasm']}" if tools["nvdisasm"] else "no nvdisasm here, so no machine code was read"
        print(f"{said}; {machine}; {found.skipped} claims beyond all of them; {len(found.problems)} problems")
    if found.problems:
        raise typer.Exit(1)

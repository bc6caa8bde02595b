"""`isa layout`, `isa descriptor` and `isa swizzle`: who holds which element, and descriptors packed and unpacked."""

from __future__ import annotations

from typing import Annotated

import typer

from retriever.cli_options import Corpus, Json, print_json

SHOWN = 6  # pictures at once; more than one product with its operands is a list


def register(app: typer.Typer) -> None:
    """Adds the commands to `app`."""
    app.command("layout")(isa_layout)
    app.command("descriptor")(isa_descriptor)
    app.command("swizzle")(isa_swizzle)


def isa_layout(
    name: Annotated[str | None, typer.Argument(help="Instruction with shape, type, operand (mma.m16n8k16.bf16.A), or as spelled.")] = None,
    element: Annotated[str | None, typer.Option("--element", help="I,J: who holds row I, column J.")] = None,
    lane: Annotated[int | None, typer.Option("--lane", help="What this thread, or lane of tensor memory, holds.", min=0)] = None,
    as_json: Json = False,
    corpus: Corpus = None,
) -> None:
    """Fragment layouts: which thread and register holds which element.

    Example: warplore isa layout mma.m16n8k16.bf16.A --element 9,3
    """
    from indexer.errors import InputError
    from indexer.locations import corpus_root
    from retriever import fragment_text as text
    from retriever.fragment_names import find
    from retriever.fragments import layouts
    from retriever.json_forms import SCHEMA

    families = layouts(corpus_root(corpus))
    if name is None:
        if element is not None or lane is not None:
            raise InputError("--element and --lane need a layout; `warplore isa layout` lists all")
        names = [{"name": family.name, "types": family.entry.types, "note": family.entry.note} for family in families]
        print_json({"schema": SCHEMA, "layouts": names}) if as_json else typer.echo(text.list_text(families))
        return
    found = find(name, families)
    if element is not None:
        row, column = _pair(element)
        forms = [
            text.element_json(each, row, column) if as_json else text.element_text(each, row, column)
            for each in _fitting(found, row, column)
        ]
    elif lane is not None:
        forms = [text.lane_json(each, lane) if as_json else text.lane_text(each, lane) for each in found]
    elif as_json:
        forms = [text.layout_json(each) for each in found]
    else:
        forms = [text.layout_text(each) for each in found] if len(found) <= SHOWN else ["\n".join(each.name for each in found)]
    print_json({"schema": SCHEMA, "layouts": forms}) if as_json else typer.echo("\n\n".join(forms))


def _pair(text: str) -> tuple[int, int]:
    from indexer.errors import InputError

    try:
        row, column = (int(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f'--element is a row and a column, like 9,3; not "{text}"') from error
    return row, column


def _fitting(found: list, row: int, column: int) -> list:
    """The layouts whose tile has that element; all of them where none has, so that the first says so."""
    return [each for each in found if 0 <= row < each.rows and 0 <= column < each.columns] or found


def isa_descriptor(
    name: Annotated[str | None, typer.Argument(help="wgmma-smem, tcgen05-smem, tcgen05-idesc.f16, ...; without it, all names.")] = None,
    values: Annotated[list[str] | None, typer.Argument(help="A number to take apart, or field=value ... to put together.")] = None,
    as_json: Json = False,
    corpus: Corpus = None,
) -> None:
    """Descriptors of wgmma and tcgen05, field by field. Exit status 1 when a number breaks its rules.

    Example: warplore isa descriptor tcgen05-idesc.f16 a=bf16 b=bf16 m=128 n=256
    """
    from indexer.errors import InputError
    from indexer.locations import corpus_root
    from retriever import descriptor_text as text
    from retriever.descriptors import decode, encode, find_descriptor, load_descriptors
    from retriever.json_forms import SCHEMA

    table = load_descriptors(corpus_root(corpus))
    if name is None:
        names = {key: descriptor.title for key, descriptor in table.descriptors.items()}
        lines = "\n".join(f"{key}  {title}" for key, title in names.items())
        print_json({"schema": SCHEMA, "descriptors": names}) if as_json else typer.echo(lines)
        return
    descriptor, key = find_descriptor(name, table), name.strip().lower().replace("kind::", "")
    if not values:
        form = {"schema": SCHEMA, **text.descriptor_json(key, descriptor)}
        print_json(form) if as_json else typer.echo(text.descriptor_text(key, descriptor, table.source(descriptor)))
        return
    pairs = [each.partition("=") for each in values]
    if all(sign for _, sign, _ in pairs):
        value = encode(descriptor, {field: given for field, _, given in pairs})
    elif len(values) == 1:
        value = _number(values[0])
    else:
        raise InputError(f'one number, or field=value only; not "{" ".join(values)}"')
    decoded = decode(descriptor, value)
    form = {"schema": SCHEMA, **text.descriptor_json(key, descriptor, value, decoded)}
    print_json(form) if as_json else typer.echo(text.decoded_text(key, descriptor, value, decoded))
    if decoded.problems:
        raise typer.Exit(1)


def isa_swizzle(
    mode: Annotated[str, typer.Argument(help="none, 32B, 64B, 96B, 128B, 128B-atom32 or 128B-atom64.")],
    offsets: Annotated[list[str], typer.Argument(help="Byte offsets from a base aligned to the mode's repeat.")],
    as_json: Json = False,
    corpus: Corpus = None,
) -> None:
    """Where a byte of a tile lies under a swizzle of TMA and of the matrix descriptors.

    Example: warplore isa swizzle 128B 0x280
    """
    from indexer.locations import corpus_root
    from retriever.descriptors import find_swizzle, load_descriptors, swizzle
    from retriever.json_forms import SCHEMA

    found = find_swizzle(mode, load_descriptors(corpus_root(corpus)))
    moved = [(offset, swizzle(found, offset)) for offset in map(_number, offsets)]
    form = {"schema": SCHEMA, "mode": mode, **found.model_dump(), "offsets": [{"from": start, "to": end} for start, end in moved]}
    print_json(form) if as_json else typer.echo("\n".join(f"{start:#x} -> {end:#x}" for start, end in moved))


def _number(text: str) -> int:
    from indexer.errors import InputError

    try:
        value = int(text, 0)
    except ValueError as error:
        raise InputError(f'"{text}" is not a number; hexadecimal begins with 0x') from error
    if value < 0:
        raise InputError(f"{text}: a value is not negative")
    return value

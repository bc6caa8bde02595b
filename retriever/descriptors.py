"""Descriptors of wgmma and tcgen05 as fields, `isa/descriptors.yaml`: packed, unpacked, and swizzled byte offsets. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple

import yaml
from pydantic import Field, ValidationError

from indexer.errors import CorpusError, InputError, did_you_mean, nearest
from indexer.schema import Strict, Text

FILE = "isa/descriptors.yaml"
Value = int | str


class Steps(Strict):
    """Legal numbers of a field."""

    from_: Annotated[int, Field(alias="from")]
    to: int
    step: int


class Bits(Strict):
    """One field."""

    bits: tuple[int, int]
    """Lowest and highest, inclusive."""
    meaning: Text
    shift: int = 0
    values: dict[str, int] = Field(default_factory=dict)
    allowed: tuple[int, ...] | Steps = ()
    always: int | None = None
    default: Value | None = None

    @property
    def largest(self) -> int:
        """The largest code that fits."""
        return (1 << (self.bits[1] - self.bits[0] + 1)) - 1

    def legal(self) -> tuple[int, ...]:
        """The legal numbers, before the shift; empty where every number that fits is."""
        given = self.allowed
        return tuple(range(given.from_, given.to + 1, given.step)) if isinstance(given, Steps) else given


class Descriptor(Strict):
    """One descriptor."""

    title: Text
    page: Text
    anchor: Text
    width: int
    fields: dict[str, Bits]
    like: str = ""


class Swizzle(Strict):
    """One mode, as an XOR of address bits."""

    shift: int
    mask: int
    repeat: int
    """Bytes after which the pattern starts anew; the base of a tile is a multiple of it."""


class Table(Strict):
    """The whole file."""

    schema_version: Annotated[int, Field(alias="schema")]
    url: Text
    revision: Text
    descriptors: dict[str, Descriptor]
    swizzles: dict[str, Swizzle]

    def source(self, descriptor: Descriptor) -> str:
        """Where the fields are stated."""
        return f"PTX ISA {self.revision}, {self.url}#{descriptor.anchor}"


class Decoded(NamedTuple):
    """What a value says."""

    fields: dict[str, Value]
    problems: tuple[str, ...]
    """One for each field that holds what it must not."""


@lru_cache(maxsize=4)
def load_descriptors(root: Path) -> Table:
    """The file, `like` resolved.

    Raises:
        CorpusError: the file breaks its schema.
    """
    try:
        table = Table.model_validate(yaml.safe_load((root / FILE).read_text(encoding="utf-8")))
        whole = {name: _whole(table, name) for name in table.descriptors}
    except ValidationError as error:
        raise CorpusError([f"{FILE}:1: {'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]) from error
    except (OSError, yaml.YAMLError, KeyError) as error:
        raise CorpusError([f"{FILE}:1: cannot be read ({error!r})"]) from error
    return table.model_copy(update={"descriptors": whole})


def _whole(table: Table, name: str) -> Descriptor:
    own = table.descriptors[name]
    fields = (_whole(table, own.like).fields if own.like else {}) | own.fields
    return own.model_copy(update={"fields": dict(sorted(fields.items(), key=lambda pair: pair[1].bits))})


def find_descriptor(name: str, table: Table) -> Descriptor:
    """The descriptor of that name.

    Raises:
        InputError: there is none; the nearest names are listed.
    """
    wanted = name.strip().lower().replace("kind::", "")
    if wanted not in table.descriptors:
        close = nearest(wanted, list(table.descriptors)) or list(table.descriptors)
        raise InputError(f'no descriptor "{name}"; nearest: {", ".join(close)}. `warplore isa descriptor` lists all')
    return table.descriptors[wanted]


def encode(descriptor: Descriptor, fields: Mapping[str, Value]) -> int:
    """The descriptor's value; fields that are not given have their defaults.

    Raises:
        InputError: one part for each field that is unknown, missing, or holds what it must not.
    """
    problems = [
        f"no field {name!r}{did_you_mean(name, list(descriptor.fields))}; fields: {', '.join(descriptor.fields)}"
        for name in fields
        if name not in descriptor.fields
    ]
    value = 0
    for name, field in descriptor.fields.items():
        given = fields.get(name, field.always if field.default is None else field.default)
        try:
            value |= _code(name, field, given) << field.bits[0]
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError(f"{descriptor.title}: {'; '.join(problems)}")
    return value


def _code(name: str, field: Bits, given: Value | None) -> int:
    """The bits of one field."""
    if given is None:
        raise InputError(f"{name} is missing: {expected(field)}")
    if field.values:
        codes = {key.lower(): code for key, code in field.values.items()}
        if str(given).lower() not in codes:
            raise InputError(f"{name} is {expected(field)}, not {given}")
        return codes[str(given).lower()]
    try:
        number = given if isinstance(given, int) else int(given, 0)
    except ValueError as error:
        raise InputError(f"{name} is {expected(field)}, not {given!r}") from error
    legal = field.legal() or ((field.always,) if field.always is not None else ())
    if (legal and number not in legal) or number % (1 << field.shift) or not 0 <= number >> field.shift <= field.largest:
        raise InputError(f"{name} is {expected(field)}, not {given}")
    return number >> field.shift


def expected(field: Bits) -> str:
    """What a field may hold, in words."""
    if field.values:
        return f"one of {', '.join(field.values)}"
    if field.always is not None:
        return f"always {field.always}"
    if legal := field.legal():
        steps = f"{legal[0]} to {legal[-1]} in steps of {legal[1] - legal[0]}" if len(legal) > 6 else ", ".join(map(str, legal))
        return steps if len(legal) > 1 else f"always {steps}"
    multiple = f", a multiple of {1 << field.shift}" if field.shift else ""
    return f"0 to {field.largest << field.shift}{multiple}"


def decode(descriptor: Descriptor, value: int) -> Decoded:
    """Every field of a value, with its name where it has one, and what is wrong with it.

    Raises:
        InputError: the value is negative or wider than the descriptor.
    """
    if not 0 <= value < 1 << descriptor.width:
        raise InputError(f"{descriptor.title} has {descriptor.width} bits; {value:#x} does not fit")
    fields: dict[str, Value] = {}
    problems = []
    unused = value
    for name, field in descriptor.fields.items():
        code = value >> field.bits[0] & field.largest
        unused &= ~(field.largest << field.bits[0])
        named = next((key for key, each in field.values.items() if each == code), None)
        fields[name] = named if named is not None else code << field.shift
        if field.values and named is None:
            problems.append(f"{name} (bits {span(field)}) has the invalid code {code}: {expected(field)}")
        elif not field.values and (field.always is not None or field.allowed):
            try:
                _code(name, field, code << field.shift)
            except InputError as error:
                problems.append(f"{error} (bits {span(field)})")
    problems += [f"bit {bit} must be 0" for bit in range(descriptor.width) if unused >> bit & 1]
    return Decoded(fields, tuple(problems))


def span(field: Bits) -> str:
    """The bits of a field, lowest and highest."""
    return str(field.bits[0]) if field.bits[0] == field.bits[1] else f"{field.bits[0]}-{field.bits[1]}"


def swizzle(mode: Swizzle, offset: int) -> int:
    """The byte offset at which a byte lies under a swizzle, from a base that is a multiple of its repeat. Its own inverse."""
    return offset ^ (offset >> mode.shift & mode.mask)


def find_swizzle(name: str, table: Table) -> Swizzle:
    """The swizzle of that name.

    Raises:
        InputError: there is none; all names are listed.
    """
    known = {key.lower(): key for key in table.swizzles}
    if name.strip().lower() not in known:
        raise InputError(f'no swizzle mode "{name}"; modes: {", ".join(table.swizzles)}')
    return table.swizzles[known[name.strip().lower()]]

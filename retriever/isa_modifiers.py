"""A spelled-out instruction explained part by part, from its page's syntax and the glossary `isa/modifiers.yaml`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml
from pydantic import ValidationError

from indexer.errors import CorpusError
from indexer.isa_glossary import Glossary
from indexer.records import IsaRecord
from retriever.isa_sass import is_form, opcode, statements

GLOSSARY = "isa/modifiers.yaml"
_SECTION = re.compile(r"^## Syntax\b.*?(?=^## |\Z)", re.M | re.S)
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.M | re.S)
_WORD = re.compile(r"\w+(?:::\w+)*")


@dataclass(frozen=True, slots=True)
class Modifier:
    """One part of a spelled-out instruction."""

    text: str
    known: str
    """`name`, `syntax` or `example`: where the page has it; empty when it does not."""
    meaning: str
    """From the glossary; empty when that has no entry."""


@lru_cache(maxsize=4)
def load_glossary(root: Path) -> Glossary:
    """The glossary of modifiers; an empty one for a corpus without it.

    Raises:
        CorpusError: the file breaks its schema.
    """
    if not (root / GLOSSARY).is_file():
        return Glossary.model_construct(schema_version=1, sources=(), groups={})
    try:
        return Glossary.model_validate(yaml.safe_load((root / GLOSSARY).read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError, ValidationError) as error:
        raise CorpusError([f"{GLOSSARY}:1: {error}"]) from error


def spelled(name: str) -> str:
    """The instruction in what a person pasted: without guard, operands and semicolon, in lower case but for shapes and sizes."""
    return re.sub(r"^@!?%?\w+\s+", "", name.strip()).split(";")[0].split()[0] if name.strip(" ;") else ""


def explain(name: str, entry: IsaRecord, glossary: Glossary) -> list[Modifier]:
    """Each part of `name`: whether the page of `entry` has it, and what it means."""
    syntax, examples = syntax_words(entry.body), example_words(entry.body, mnemonics(entry))
    own = {part for mnemonic in mnemonics(entry) for part in mnemonic.split(".")}
    found = []
    for place, part in enumerate(spelled(name).split(".")):
        if place == 0:
            continue
        known = "name" if part in own else "syntax" if in_syntax(part, syntax, glossary) else "example" if part in examples else ""
        found.append(Modifier(part, known, glossary.meaning(part, entry.mnemonic.split(".")[0])))
    return found


def mnemonics(entry: IsaRecord) -> tuple[str, ...]:
    """Every mnemonic that a page is about, its own first."""
    return (entry.mnemonic, *entry.also)


def known_parts(name: str, entry: IsaRecord, glossary: Glossary) -> int:
    """How many parts of a spelled-out instruction the page has."""
    return sum(bool(modifier.known) for modifier in explain(name, entry, glossary))


@lru_cache(maxsize=512)
def syntax_words(body: str) -> frozenset[str]:
    """Every modifier that the Syntax section writes out, its shorthand expanded; one that ends in `::` stands for any continuation."""
    section = _SECTION.search(body)
    text = "\n".join(block for _, block in _FENCE.findall(section[0])) if section else ""
    text = re.sub(r"\{([A-Z])\}", r"\1", re.sub(r"//[^\n]*", "", text))  # m64n{N}k16 is m64nNk16
    words = set(_WORD.findall(text))
    for base, options in re.findall(r"([\w:]*\w)\{((?:\.|::)?[\w:|.]+)\}", text):  # shared{::cta}, k{16|32}, get{::x|::y}
        words |= {base + option for option in options.split("|")} if not options.startswith(".") else set()
    for base, options in re.findall(r"(\w+::)\{?([\w:]+(?:\|[\w:]+)+)\}?", text):  # cta_group::1|2, L2::{64B|128B}
        words |= {base + option.removeprefix(base).lstrip(":") for option in options.split("|")}
    for low, high, tail in re.findall(r"\{(\d)\.\.(\d)\}(\w+)", text):  # {1..5}d
        words |= {f"{number}{tail}" for number in range(int(low), int(high) + 1)}
    words |= set(re.findall(r"(\w+::)\.\.", text))
    return frozenset(words)


@lru_cache(maxsize=512)
def example_words(body: str, names: tuple[str, ...]) -> frozenset[str]:
    """Every modifier in the page's accepted examples."""
    texts = [text for info, text in re.findall(r"^```(ptx [^\n]*)\n(.*?)^```", body, re.M | re.S) if "accept=" in info]
    found = (opcode(statement) for text in texts for statement in statements(text))
    return frozenset(part for form in found if form and is_form(form, names) for part in form.split("."))


def in_syntax(part: str, words: frozenset[str], glossary: Glossary) -> bool:
    """Whether a syntax has a modifier: written out, as a shape with letters (`m64nNk16`), or under a placeholder (`.type`)."""
    if part in words or any(word.endswith("::") and part.startswith(word) for word in words):
        return True
    shapes = (re.sub(r"(?<=[mnkx])[A-Z]", r"\\d+", re.escape(word)) for word in words if re.fullmatch(r"[\dmnkxA-Z]*[mnkx][A-Z]\w*", word))
    return any(re.fullmatch(shape, part) for shape in shapes) or bool(words & glossary.placeholders(part))


def modifiers_text(name: str, modifiers: Sequence[Modifier]) -> str:
    """One line a modifier."""
    said = {"name": "part of the name", "syntax": "in the syntax", "example": "in an accepted example", "": "**not on this page**"}
    lines = [f"- `.{m.text}` ({said[m.known]}){f': {m.meaning}' if m.meaning else ''}" for m in modifiers]
    return f"`{spelled(name)}`, part by part:\n\n" + "\n".join(lines)

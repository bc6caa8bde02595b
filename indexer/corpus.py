"""Corpus files to records: find them, split front matter from body, validate both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import ValidationError

from indexer.errors import CorpusError, InputError, did_you_mean, nearest
from indexer.front_matter import split_front_matter
from indexer.records import RECORD_TYPES, Record
from indexer.vocabulary import KINDS, Vocabulary, load_vocabulary

GLOBS = {
    "zoo": "kernel_wiki/zoo/*/*.md",
    "attempt": "kernel_wiki/attempts/*/*.md",
    "technique": "kernel_wiki/techniques/*.md",
    "guide": "kernel_wiki/guides/*.md",
    "hardware": "kernel_wiki/hardware/*.md",
    "isa": "isa/*/*.md",
    "pr": "pr_archive/*--*/*.md",
    "skill": "skills/*/SKILL.md",
}
"""Which files are records of which kind, relative to the corpus root."""

VOCABULARY_FIELDS = {kind: kind for kind in KINDS if kind != "features"} | {
    "requires": "features",
    "cures": "techniques",
    "not_cures": "techniques",
    "explains": "bottlenecks",
}
"""Record field to the vocabulary kind that its words come from."""

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Every record of a corpus, and what is wrong with the files that are not records."""

    root: Path
    vocabulary: Vocabulary
    records: dict[str, Record]
    """Valid records by id, in id order."""
    problems: tuple[str, ...]
    """`path:line: message`, sorted."""
    files_read: int


def load_corpus(root: Path) -> Corpus:
    """All records below `root`; broken files are listed in `problems`, not raised."""
    vocabulary = load_vocabulary(root)
    records: dict[str, Record] = {}
    problems: list[str] = []
    files = 0
    for kind, path in corpus_files(root):
        files += 1
        try:
            record = read_record(root, kind, path, vocabulary)
        except CorpusError as error:
            problems += error.problems
        else:
            records[record.id] = record
    return Corpus(root, vocabulary, dict(sorted(records.items())), tuple(sorted(problems)), files)


def read_entries(root: Path, kind: str, vocabulary: Vocabulary) -> tuple[list[Record], list[str]]:
    """The valid records of one kind, in path order, and what is wrong with the others."""
    records, problems = [], []
    for _, path in (pair for pair in corpus_files(root) if pair[0] == kind):
        try:
            records.append(read_record(root, kind, path, vocabulary))
        except CorpusError as error:
            problems += error.problems
    return records, problems


def read_entry(root: Path, id: str, vocabulary: Vocabulary) -> Record:
    """The record with that id; the kind in front may be left out.

    Raises:
        InputError: no entry has that id; the nearest ids are listed.
        CorpusError: its page is broken.
    """
    wanted = id.strip().strip("/").removesuffix(".md")
    ids = {record_id(root, kind, path): (kind, path) for kind, path in corpus_files(root)}
    found = ids.get(wanted) or next((ids[known] for known in ids if known.split("/", 1)[1] == wanted), None)
    if not found:
        raise InputError(f'no entry "{id}"; nearest: {", ".join(nearest(wanted, list(ids))) or "none"}. `warplore search` finds ids')
    return read_record(root, *found, vocabulary)


def corpus_files(root: Path) -> Iterator[tuple[str, Path]]:
    """`(kind, path)` of every entry, in path order; README files and templates (leading underscore) are not entries."""
    for kind, pattern in GLOBS.items():
        for path in sorted(root.glob(pattern)):
            if not path.name.startswith("_") and path.name != "README.md":
                yield kind, path


def record_id(root: Path, kind: str, path: Path) -> str:
    """The id of the entry at `path`: its path without suffix, corpus folders replaced by the kind."""
    parts = path.relative_to(root).with_suffix("").parts
    if kind == "skill":
        return f"skill/{parts[1]}"
    if kind == "pr":
        return "/".join(("pr", *parts[1:])).replace("--", "/", 1)
    return "/".join((kind, *(parts[2:] if parts[0] == "kernel_wiki" else parts[1:])))


def read_record(root: Path, kind: str, path: Path, vocabulary: Vocabulary) -> Record:
    """The record in the file at `path`.

    Raises:
        CorpusError: every problem of the file, each with its line.
    """
    where = path.relative_to(root).as_posix()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError([f"{where}:1: cannot be read as UTF-8 text ({error})"]) from error
    front, body, body_line = split_front_matter(text, where)
    try:
        raw = yaml.load(front, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark else 1
        raise CorpusError([f"{where}:{line}: front matter is not YAML: {getattr(error, 'problem', error)}"]) from error
    if not isinstance(raw, dict):
        raise CorpusError([f"{where}:1: front matter must be a mapping of keys to values"])
    if kind == "skill":
        raw = _skill_fields(raw)
    lines = _key_lines(front)
    try:
        record = RECORD_TYPES[kind].model_validate(raw)
    except ValidationError as error:
        raise CorpusError([_explain(where, lines, RECORD_TYPES[kind], item) for item in error.errors()]) from error
    problems = [
        f'{where}:{lines.get(field, 1)}: unknown word "{word}" in {field}{did_you_mean(word, vocabulary.ids(kind_of))}'
        for field, kind_of in VOCABULARY_FIELDS.items()
        for word in getattr(record, field, ())
        if word not in vocabulary.terms[kind_of]
    ]
    problems += [
        f'{where}:{lines.get("fallbacks", 1)}: unknown feature "{word}" in fallbacks{did_you_mean(word, vocabulary.ids("features"))}'
        for fallback in record.fallbacks
        for word in (fallback.instead_of, *fallback.use)
        if word not in vocabulary.terms["features"]
    ]
    problems += [
        f"{where}:{lines.get('fallbacks', 1)}: fallback for {fallback.instead_of}, which is not in requires"
        for fallback in record.fallbacks
        if fallback.instead_of in vocabulary.terms["features"] and fallback.instead_of not in record.requires
    ]
    if not body.strip():
        problems.append(f"{where}:{body_line}: the page has no text below its front matter")
    if problems:
        raise CorpusError(problems)
    record._id = record_id(root, kind, path)
    record._location = f"{where}:1-{text.count(chr(10)) or 1}"
    record._body = body
    return record


def _skill_fields(raw: dict) -> dict:
    return {
        "title": str(raw.get("name", "")),
        "summary": str(raw.get("description", "")),
        "license": str(raw.get("license", "Apache-2.0")),
    }


def _key_lines(front: str) -> dict[str, int]:
    """Line in the file of each top-level front-matter key."""
    return {
        line.split(":", 1)[0].strip(): number
        for number, line in enumerate(front.splitlines(), start=2)
        if line[:1].strip() and ":" in line and not line.startswith("#")
    }


def _explain(where: str, lines: dict[str, int], model: type[Record], item: dict) -> str:
    """One pydantic error as `path:line: message`, with the nearest allowed key for an unknown one."""
    field = str(item["loc"][0]) if item["loc"] else ""
    line = lines.get(field, 1)
    trail = ".".join(map(str, item["loc"]))
    if item["type"] == "extra_forbidden":
        allowed = list(model.model_fields) if len(item["loc"]) == 1 else []
        return f'{where}:{line}: unknown key "{trail}"{did_you_mean(str(item["loc"][-1]), allowed)}'
    if item["type"] == "missing":
        return f"{where}:1: required key {trail} is missing"
    return f"{where}:{line}: {trail}: {item['msg']}, not {item['input']!r}"[:400]

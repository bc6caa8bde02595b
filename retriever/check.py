"""Everything wrong with the corpora, found by reading and never by running: schema, words, links, hashes, expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from indexer.corpus import Corpus, load_corpus
from indexer.errors import CorpusError, did_you_mean
from indexer.gpus import load_gpus
from indexer.records import GuideRecord, IsaRecord, TechniqueRecord, ZooRecord
from kernel_wiki.harness import discover
from retriever.diagnosis import expression_problems
from retriever.isa_verify import check_verified

_LINK = re.compile(r"`((?:zoo|technique|guide|hardware|isa|pr|skill)/[\w./@-]*[\w@-])`")
_MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|Users)/\w")
WRONG_VARIANTS = 2  # at least, for every operator


def check_corpus(root: Path) -> tuple[list[str], int]:
    """`(problems, files read)`: each problem is `path:line: message`, sorted; reading nothing is a problem too."""
    corpus = load_corpus(root)
    problems = list(corpus.problems)
    for check in (_gpus, _links, _guides, _techniques, _isa, _zoo, _skills):
        problems += check(corpus)
    if not corpus.files_read:
        problems.append(f"{root}: no corpus file found; is this the corpus folder?")
    return sorted(set(problems)), corpus.files_read


def _gpus(corpus: Corpus) -> list[str]:
    try:
        load_gpus(corpus.root)
    except CorpusError as error:
        return error.problems
    return []


def _links(corpus: Corpus) -> Iterator[str]:
    """Ids in backquotes and in front matter must exist; no page may name a place on somebody's machine."""
    for record in corpus.records.values():
        text = (corpus.root / record.path).read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), start=1):
            for id in _LINK.findall(line):
                if id not in corpus.records:
                    yield f'{record.path}:{number}: no entry "{id}"{did_you_mean(id, list(corpus.records))}'
            if _MACHINE_PATH.search(line):
                yield f"{record.path}:{number}: names a path of a machine"
        linked = (
            record.instead if isinstance(record, IsaRecord) else (record.parent,) if isinstance(record, ZooRecord) and record.parent else ()
        )
        for id in linked:
            if id not in corpus.records:
                yield f'{record.path}:1: no entry "{id}"{did_you_mean(id, list(corpus.records))}'


def _guides(corpus: Corpus) -> Iterator[str]:
    for record in corpus.records.values():
        if isinstance(record, GuideRecord):
            name = record.id.split("/")[1]
            if name not in corpus.vocabulary.terms["bottlenecks"]:
                yield f'{record.path}:1: a guide is named for its bottleneck; "{name}" is none'
            yield from (f"{record.path}:1: {problem}" for problem in expression_problems(record))


def _techniques(corpus: Corpus) -> Iterator[str]:
    for record in corpus.records.values():
        if isinstance(record, TechniqueRecord) and (name := record.id.split("/")[1]) not in corpus.vocabulary.terms["techniques"]:
            yield f'{record.path}:1: a technique page is named for its vocabulary term; "{name}" is none'


def _isa(corpus: Corpus) -> list[str]:
    return check_verified(corpus.root) if any(isinstance(record, IsaRecord) for record in corpus.records.values()) else []


def _zoo(corpus: Corpus) -> Iterator[str]:
    """Every implementation has a page, sources that parse, and a fresh accepted record; every operator has wrong variants."""
    zoo = corpus.root / "kernel_wiki" / "zoo"
    for operator in discover.operators(zoo):
        wrong = discover.wrong_variants(operator, zoo)
        if len(wrong) < WRONG_VARIANTS:
            yield f"kernel_wiki/zoo/{operator}/contract.py:1: {len(wrong)} wrong variants; an operator needs {WRONG_VARIANTS}"
        for entry in discover.implementations(operator, zoo):
            where = f"kernel_wiki/zoo/{operator}/{entry.name}"
            if not (zoo / operator / f"{entry.name}.md").is_file():
                yield f"{where}.py:1: no page beside it; write {entry.name}.md"
            status = discover.record_status(operator, entry.name, zoo=zoo)
            if status.status != "valid":
                yield f"{where}.md:1: validation record {status.status} ({status.reason}); renew it on a GPU: {status.command}"
            compiled = discover.record_path(operator, entry.name, discover.COMPILE_FOLDER, zoo)
            if not compiled.is_file():
                yield f"{where}.md:1: no compile record; python -m kernel_wiki.harness compile {entry.id}"


def _skills(corpus: Corpus) -> Iterator[str]:
    """What the Agent Skills specification's own validator says."""
    from skills_ref import validate

    for path in sorted((corpus.root / "skills").glob("*/SKILL.md")):
        yield from (f"{path.relative_to(corpus.root).as_posix()}:1: {problem}" for problem in validate(path.parent))

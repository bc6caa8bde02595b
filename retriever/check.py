"""Everything wrong with the corpora, found by reading and never by running: schema, words, links, hashes, expressions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from indexer.corpus import Corpus, load_corpus
from indexer.errors import CorpusError, did_you_mean
from indexer.gpus import load_gpus
from indexer.records import GuideRecord, IsaRecord, TechniqueRecord, ZooRecord
from kernel_wiki.harness import discover
from retriever.check_zoo import zoo_problems
from retriever.descriptors import load_descriptors
from retriever.evidence import is_slower
from retriever.fragments import all_problems as layout_problems
from retriever.guide_problems import expression_problems
from retriever.isa_coverage import coverage_problems
from retriever.isa_verify import check_verified
from retriever.labels import label_problems

_LINK = re.compile(r"`((?:zoo|attempt|technique|guide|hardware|isa|pr|skill)/[\w./@-]*[\w@-])`")
_PATH_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)(?:#[^)\s]*)?\)")
_MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|Users)/\w")


def check_corpus(root: Path) -> tuple[list[str], int]:
    """`(problems, files read)`: each problem is `path:line: message`, sorted; reading nothing is a problem too."""
    corpus = load_corpus(root)
    problems = list(corpus.problems)
    for check in (_gpus, _links, _guides, _techniques, _isa, _zoo, _attempts, _skills, label_problems):
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
    """Ids in backquotes and in front matter and files that a page links to must exist; no page may name a place on somebody's machine."""
    for record in corpus.records.values():
        text = (corpus.root / record.path).read_text(encoding="utf-8")
        fenced = False
        for number, line in enumerate(text.splitlines(), start=1):
            fenced ^= line.lstrip().startswith("```")
            for id in _LINK.findall(line):
                if id not in corpus.records:
                    yield f'{record.path}:{number}: no entry "{id}"{did_you_mean(id, list(corpus.records))}'
            for target in () if fenced else _PATH_LINK.findall(re.sub(r"`[^`]*`", "", line)):
                if not (corpus.root / record.path).parent.joinpath(target).exists():
                    yield f'{record.path}:{number}: links to "{target}", and there is no such file'
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
    """The record of the assemblers is fresh; the tables beside the pages are whole."""
    found = check_verified(corpus.root) if any(isinstance(record, IsaRecord) for record in corpus.records.values()) else []
    if (corpus.root / "isa" / "layouts.yaml").is_file():
        found += layout_problems(corpus.root)
    if (corpus.root / "isa" / "coverage.yaml").is_file():
        found += coverage_problems(corpus.root)
    if (corpus.root / "isa" / "descriptors.yaml").is_file():
        try:
            load_descriptors(corpus.root)
        except CorpusError as error:
            found += error.problems
    return found


def _zoo(corpus: Corpus) -> Iterator[str]:
    return zoo_problems(corpus.root)


def _attempts(corpus: Corpus) -> Iterator[str]:
    """Every attempt has page and source, a parent of its own operator, and fresh records that say: right, and no faster than the parent."""
    zoo = corpus.root / "kernel_wiki" / "zoo"
    folders = {path.parent.name for path in (zoo.parent / discover.ATTEMPTS_FOLDER).glob("*/*.*")}
    for operator in sorted(folders):
        where = f"kernel_wiki/{discover.ATTEMPTS_FOLDER}/{operator}"
        if operator not in discover.operators(zoo):
            yield f"{where}/:1: no operator of the zoo is called so{did_you_mean(operator, discover.operators(zoo))}"
            continue
        for page in sorted((zoo.parent / discover.ATTEMPTS_FOLDER / operator).glob("*.md")):
            if not page.name.startswith("_") and not page.with_suffix(".py").is_file():
                yield f"{where}/{page.name}:1: no source beside it; write {page.stem}.py"
        for entry in discover.attempts(operator, zoo):
            yield from (f"{where}/{entry.name}.md:1: {problem}" for problem in _attempt_problems(entry, corpus))


def _attempt_problems(entry: discover.Entry, corpus: Corpus) -> Iterator[str]:
    if not entry.source.with_suffix(".md").is_file():
        yield f"no page beside {entry.name}.py; write it"
    elif (record := corpus.records.get(f"attempt/{entry.id}")) and not record.parent.startswith(f"zoo/{entry.operator}/"):
        yield f"its parent {record.parent} is another operator's; name the implementation of {entry.operator} that it was meant to beat"
    command = f"python -m kernel_wiki.harness validate attempt/{entry.id}"
    found = sorted(entry.folder.glob(f"validation/*/{entry.name}.json"))
    if not found:
        yield f"validation record missing; measure it on a GPU: {command}"
    for path in found:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body.get("hashes") != discover.entry_hashes(entry):
            yield f"validation record stale on {path.parent.name}; renew it: {command}"
        elif body["verdict"] == "accepted" and body["timings"]:
            yield f"it beats its parent now on {path.parent.name}; move it into the zoo"
        elif body["verdict"] != "accepted" and not is_slower(body):
            yield f"rejected on {path.parent.name} at {body.get('stage')} ({body.get('category')}); an attempt must be right, and slower"


def _skills(corpus: Corpus) -> Iterator[str]:
    """What the Agent Skills specification's own validator says."""
    from skills_ref import validate

    for path in sorted((corpus.root / "skills").glob("*/SKILL.md")):
        yield from (f"{path.relative_to(corpus.root).as_posix()}:1: {problem}" for problem in validate(path.parent))

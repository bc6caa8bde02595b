"""Three rankings of records for a situation: by terms, by vectors, and by what records are tagged with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from indexer.encoder import Encoder
from indexer.index import Index
from indexer.vocabulary import Vocabulary
from retriever.query_terms import encoded_text, ranked_terms, ranked_text
from retriever.situation import Situation

OVERFETCH_CHUNKS = 200  # chunks taken from each ranker before they fold into records; the one place that over-fetches

# What a tag in common is worth, by record kind, ordered by how directly the kind answers. Without the bottlenecks the ranking loses
# 0.017 ndcg@10 on the tuning questions, without the families 0.016; half or twice of either changes 0.002. The techniques earn 0.02
# on Chinese questions and nothing elsewhere. Features, languages, what the kernel lacks and what a guide prescribes earned nothing as
# tags and are not here: pages named by the question, the language adjustment and the query's words carry them.
_BOTTLENECK = {"guide": 1.0, "technique": 0.7, "hardware": 0.3, "isa": 0.2, "pr": 0.3, "zoo": 0.3, "attempt": 0.1, "skill": 0.1}
_FAMILY = {"zoo": 0.7, "pr": 0.35, "technique": 0.2, "isa": 0.1, "guide": 0.1, "attempt": 0.2, "hardware": 0.0, "skill": 0.0}
_TECHNIQUE = {"technique": 0.5, "zoo": 0.25, "pr": 0.2, "isa": 0.2, "hardware": 0.15, "guide": 0.1, "attempt": 0.1, "skill": 0.0}
_MNEMONIC = 2.0  # an instruction named in full, above any likely sum of tags; 0.04 for questions about instructions
_DOTTED = re.compile(r"\.?[a-z][a-z0-9_]*(?:(?:\.|::)[a-z0-9_]+)*")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One record in one ranking."""

    record_id: str
    score: float
    """Higher is better; comparable within its ranking only."""
    row: int | None
    """Row of the best chunk; None for the structured ranking."""


@dataclass(frozen=True, slots=True)
class Rankings:
    """The rankings of one question, each best first with ties by id, and how well the best text matches it."""

    lexical: tuple[Candidate, ...]
    dense: tuple[Candidate, ...]
    structured: tuple[Candidate, ...]
    coverage: float
    """Share of the question's term mass in the best lexical chunk, 0 to 1."""
    similarity: float
    """Cosine of the nearest chunk."""
    subjects: frozenset[str]
    """Ids of the pages that the situation names: its techniques, bottlenecks, hardware units and instructions."""


def rank_candidates(situation: Situation, index: Index, encoder: Encoder, vocabulary: Vocabulary) -> Rankings:
    """All three rankings for `situation`."""
    text = ranked_text(situation, vocabulary)
    terms = ranked_terms(text, vocabulary)
    lexical = _lexical(index, terms)
    english = encoded_text(text, vocabulary)
    dense = _dense(index, encoder, english) if english else ()
    coverage = max((index.terms.coverage(terms, c.row) for c in lexical[:3] if c.row is not None), default=0.0)
    instructions = named_instructions(index, situation.ask)
    structured = _structured(index, situation, instructions)
    subjects = frozenset(id for id, record in index.records.items() if id in instructions or _is_subject(record, situation))
    return Rankings(lexical, dense, structured, coverage, dense[0].score if dense else 0.0, subjects)


def _lexical(index: Index, terms: list[str]) -> tuple[Candidate, ...]:
    scores = index.terms.scores(terms)
    rows = np.argsort(-scores, kind="stable")[:OVERFETCH_CHUNKS]
    return _fold(index, [(int(row), float(scores[row])) for row in rows if scores[row] > 0])


def _dense(index: Index, encoder: Encoder, text: str) -> tuple[Candidate, ...]:
    return _fold(index, index.nearest(encoder.encode([text])[0], OVERFETCH_CHUNKS))


def _fold(index: Index, rows: list[tuple[int, float]]) -> tuple[Candidate, ...]:
    """Chunks to records, each with its best chunk."""
    best: dict[str, Candidate] = {}
    for row, score in rows:
        record_id = index.chunks[row]["record"]
        if record_id not in best or score > best[record_id].score:
            best[record_id] = Candidate(record_id, score, row)
    return _ordered(best.values())


def _structured(index: Index, situation: Situation, instructions: frozenset[str]) -> tuple[Candidate, ...]:
    scored = (Candidate(id, tag_score(record, situation) + _MNEMONIC * (id in instructions), None) for id, record in index.records.items())
    return _ordered(candidate for candidate in scored if candidate.score > 0)


def _ordered(candidates) -> tuple[Candidate, ...]:
    return tuple(sorted(candidates, key=lambda candidate: (-candidate.score, candidate.record_id)))


def tag_score(record: dict[str, Any], situation: Situation) -> float:
    """How much a record's tags have in common with the situation."""
    kind = record["kind"]
    severities = situation.severities
    bottlenecks = record.get("bottlenecks", ())
    if kind == "guide":
        bottlenecks = bottlenecks[:1]
    score = _BOTTLENECK.get(kind, 0.0) * max((0.3 + 0.7 * severities[word] for word in bottlenecks if word in severities), default=0.0)
    own = (record["id"].split("/")[1],) if kind == "technique" else record.get("techniques", ())
    if set(own) & set(situation.words("techniques")):
        score += _TECHNIQUE.get(kind, 0.0)
    if set(record.get("families", ())) & set(situation.words("families")[:2]):
        score += _FAMILY.get(kind, 0.0)
    return score


def _is_subject(record: dict[str, Any], situation: Situation) -> bool:
    name = record["id"].rsplit("/", 1)[1]
    match record["kind"]:
        case "technique":
            return name in situation.words("techniques")
        case "guide":
            return name in situation.words("bottlenecks")
        case "hardware":
            return bool(set(record.get("requires", ())) & set(situation.words("features")))
    return False


def named_instructions(index: Index, text: str) -> frozenset[str]:
    """Ids of the instructions that `text` names, with or without modifiers; of several prefixes of a word the longest.

    A word without a dot counts from five characters on or with a digit: `st`, `max` and `red` are also English.
    """
    words = [word.replace("::", ".") for word in _DOTTED.findall(text.lower())]
    words = [word for word in words if "." in word or len(word) >= 5 or re.search(r"\d", word)]
    pages: dict[str, list[str]] = {}
    for id, record in index.records.items():
        if record["kind"] == "isa":
            pages.setdefault(record["mnemonic"].lower(), []).append(id)
    found: set[str] = set()
    for word in words:
        known = [mnemonic for mnemonic in pages if word == mnemonic or word.startswith(mnemonic + ".")]
        if known:
            mnemonic = max(known, key=len)
            found |= {id for id in pages[mnemonic] if id.rsplit("/", 1)[1] == mnemonic} or set(pages[mnemonic])
    return frozenset(found)

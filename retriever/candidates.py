"""Three rankings of records for a situation: by terms, by vectors, and by what records are tagged with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from indexer.encoder import Encoder
from indexer.index import Index
from indexer.terms import search_terms
from indexer.vocabulary import Vocabulary
from retriever.situation import Situation

OVERFETCH_CHUNKS = 200  # chunks taken from each ranker before they fold into records; the one place that over-fetches

# What a tag in common is worth, by record kind. Guesses ordered by how directly the kind answers; `warplore eval` is to settle them.
_BOTTLENECK = {"guide": 1.0, "technique": 0.7, "hardware": 0.3, "isa": 0.2, "pr": 0.3, "zoo": 0.3, "skill": 0.1}
_FAMILY = {"zoo": 1.0, "pr": 0.7, "technique": 0.2, "isa": 0.1, "guide": 0.1, "hardware": 0.0, "skill": 0.0}
_TECHNIQUE = {"technique": 1.0, "zoo": 0.5, "pr": 0.4, "isa": 0.4, "hardware": 0.3, "guide": 0.2, "skill": 0.0}
_FEATURE = {"hardware": 1.0, "isa": 0.6, "zoo": 0.4, "technique": 0.4, "pr": 0.2, "guide": 0.1, "skill": 0.0}
_LANGUAGE = {"zoo": 0.25, "pr": 0.1}
_WANTED_SHARE = 0.5  # a technique that the situation calls for counts half of one that was asked for by name


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


def rank_candidates(situation: Situation, index: Index, encoder: Encoder, vocabulary: Vocabulary) -> Rankings:
    """All three rankings for `situation`."""
    text = situation.query_text(vocabulary)
    terms = search_terms(text, vocabulary)
    lexical = _lexical(index, terms)
    dense = _dense(index, encoder, text) if text else ()
    coverage = max((index.terms.coverage(terms, c.row) for c in lexical[:3] if c.row is not None), default=0.0)
    return Rankings(lexical, dense, _structured(index, situation), coverage, dense[0].score if dense else 0.0)


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


def _structured(index: Index, situation: Situation) -> tuple[Candidate, ...]:
    scored = (Candidate(id, tag_score(record, situation), None) for id, record in index.records.items())
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
    asked = situation.words("techniques")
    wanted = situation.wanted_techniques
    own = record.get("techniques", ())
    if kind == "technique":
        own = (record["id"].split("/")[1],)
    score += _TECHNIQUE.get(kind, 0.0) * max(
        (1.0 if word in asked else _WANTED_SHARE if word in wanted else 0.0 for word in own),
        default=0.0,
    )
    for field, words, weights in (
        ("families", situation.words("families")[:2], _FAMILY),
        ("requires", situation.words("features"), _FEATURE),
        ("languages", situation.words("languages"), _LANGUAGE),
    ):
        if set(record.get(field, ())) & set(words):
            score += weights.get(kind, 0.0)
    mnemonic = record.get("mnemonic")
    if mnemonic and mnemonic in situation.ask.lower():
        score += 2.0
    return score

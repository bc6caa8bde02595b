"""Retrieval quality over judged questions, with metrics named as ranx names them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from indexer.errors import InputError
from retriever.candidates import Rankings, rank_candidates
from retriever.rank import fused_scores, mix_kinds, rank
from retriever.service import Warplore
from retriever.situation import Situation

DEFAULT_QUERIES = "tests/data/queries.yaml"
DEPTH = 10  # hits that are judged: one screen of `search`
RANKERS = ("lexical", "dense", "structured", "fused", "full")
"""The three rankings alone, their fusion without adjustments, and what `search` shows."""


class Query(BaseModel):
    """A question with what an expert wants to see for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    kind: str
    """What sort of question it is: symptom, operator, technique, instruction, kernel, report ..."""
    text: str = ""
    gpu: str | None = None
    kernel: str | None = None
    ncu: str | None = None
    relevant: dict[str, Annotated[int, Field(ge=1, le=2)]] = {}
    """Record id to grade: 2 must be near the top, 1 is useful."""
    never: str | None = None
    """Name of the set of ids and prefixes (ending in "/") that must not be shown for this GPU."""
    held_out: bool = False
    """Kept out of tuning."""
    refuse: bool = False
    """Nothing in the corpus fits, and the answer must say so."""


class QueryFile(BaseModel):
    """A file of judged questions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_: Literal[1] = Field(alias="schema")
    never_sets: dict[str, tuple[str, ...]] = {}
    queries: Annotated[tuple[Query, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _questions_are_judged(self) -> QueryFile:
        for query in self.queries:
            if query.refuse == bool(query.relevant):
                raise ValueError(f"{query.id}: give either `relevant` or `refuse: true`")
            if query.never and query.never not in self.never_sets:
                raise ValueError(f'{query.id}: never "{query.never}" is not in never_sets; one of: {", ".join(self.never_sets)}')
        return self


@dataclass(frozen=True, slots=True)
class Answer:
    """What each ranker showed for one question."""

    query: Query
    shown: dict[str, tuple[str, ...]]
    """Ranker to the ids it shows, best first, at most DEPTH."""
    nothing_fits: bool
    leaked: dict[str, tuple[str, ...]]
    """Ranker to the shown ids that can never help on the GPU."""


@dataclass(frozen=True, slots=True)
class Score:
    """Means over a group of questions that have an answer; higher is better, except for the leaks."""

    group: str
    questions: int
    recall_at_5: float
    ndcg_at_10: float
    mrr: float
    leakage: int
    """Shown entries that can never help on the GPU, counted over the group."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Every score, and the answers behind them."""

    groups: tuple[Score, ...]
    """The full ranking over all questions, the tuning part, the held-out part, then each kind of question."""
    rankers: tuple[Score, ...]
    """Each ranker over all questions."""
    rankers_held_out: tuple[Score, ...]
    refusals: int
    refusal_accuracy: float
    """Share of the questions that nothing fits for which the answer says so."""
    wrongly_refused: tuple[str, ...]
    """Questions that have an answer and were told that nothing fits; they score 0."""
    answers: tuple[Answer, ...]


def load_queries(path: Path) -> QueryFile:
    """The judged questions in `path`.

    Raises:
        InputError: it cannot be read, or breaks the schema; every problem is named.
    """
    try:
        return QueryFile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError) as error:
        raise InputError(f"{path}: cannot be read as judged questions ({error})") from error
    except ValidationError as error:
        lines = [f"{path}: {'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()]
        raise InputError("\n".join(lines)) from error


def recall_at(shown: Sequence[str], relevant: dict[str, int], k: int) -> float:
    """Share of the relevant ids among the first `k`."""
    return len(set(shown[:k]) & set(relevant)) / len(relevant)


def ndcg_at(shown: Sequence[str], relevant: dict[str, int], k: int) -> float:
    """Normalised discounted cumulative gain with the grade as gain (Jarvelin and Kekalainen, TOIS 2002)."""
    gain = sum(relevant.get(id, 0) / log2(place + 1) for place, id in enumerate(shown[:k], start=1))
    best = sum(grade / log2(place + 1) for place, grade in enumerate(sorted(relevant.values(), reverse=True)[:k], start=1))
    return gain / best


def reciprocal_rank(shown: Sequence[str], relevant: dict[str, int]) -> float:
    """1 over the place of the first relevant id; 0 when none is shown."""
    return next((1 / place for place, id in enumerate(shown, start=1) if id in relevant), 0.0)


def evaluate(core: Warplore, file: QueryFile) -> Evaluation:
    """All scores of the corpus behind `core`."""
    return score(tuple(answer(core, query, file.never_sets) for query in file.queries))


def answer(core: Warplore, query: Query, never_sets: dict[str, tuple[str, ...]]) -> Answer:
    """What each ranker shows for one question; its paths are relative to the corpus root."""
    kernel, ncu = (str(core.root / path) if path else None for path in (query.kernel, query.ncu))
    situation = core.situation(query.text, kernel, query.gpu, ncu)
    rankings = rank_candidates(situation, core.index, core.encoder, core.vocabulary)
    shown, refused = _shown(core, situation, rankings)
    never = never_sets[query.never] if query.never else ()
    leaked = {name: tuple(id for id in ids if _matches(id, never)) for name, ids in shown.items()}
    return Answer(query, shown, refused, leaked)


def _shown(core: Warplore, situation: Situation, rankings: Rankings) -> tuple[dict[str, tuple[str, ...]], bool]:
    shown = {name: tuple(c.record_id for c in getattr(rankings, name)[:DEPTH]) for name in ("lexical", "dense", "structured")}
    fused = fused_scores(rankings)
    shown["fused"] = tuple(sorted(fused, key=lambda id: (-fused[id], id))[:DEPTH])
    ranking = rank(situation, rankings, core.index)
    shown["full"] = () if ranking.nothing_fits else tuple(hit.id for hit in mix_kinds(ranking.hits, DEPTH))
    return shown, ranking.nothing_fits


def _matches(id: str, patterns: Iterable[str]) -> bool:
    return any(id.startswith(pattern) if pattern.endswith("/") else id == pattern for pattern in patterns)


def score(answers: tuple[Answer, ...]) -> Evaluation:
    """The means of `answers`, grouped."""
    judged = tuple(a for a in answers if not a.query.refuse)
    unanswerable = tuple(a for a in answers if a.query.refuse)
    held_out = tuple(a for a in judged if a.query.held_out)
    kinds = dict.fromkeys(a.query.kind for a in judged)
    groups: list[tuple[str, Callable[[Answer], bool]]] = [
        ("all", lambda a: True),
        ("tuning", lambda a: not a.query.held_out),
        ("held out", lambda a: a.query.held_out),
        *((kind, lambda a, kind=kind: a.query.kind == kind) for kind in kinds),
    ]
    return Evaluation(
        tuple(_mean(name, [a for a in judged if wanted(a)], "full") for name, wanted in groups),
        tuple(_mean(ranker, judged, ranker) for ranker in RANKERS),
        tuple(_mean(ranker, held_out, ranker) for ranker in RANKERS),
        len(unanswerable),
        sum(a.nothing_fits for a in unanswerable) / len(unanswerable) if unanswerable else 1.0,
        tuple(a.query.id for a in judged if a.nothing_fits),
        answers,
    )


def _mean(group: str, answers: Sequence[Answer], ranker: str) -> Score:
    pairs = [(a.shown[ranker], a.query.relevant) for a in answers]
    count = len(pairs)
    return Score(
        group,
        count,
        sum(recall_at(*pair, 5) for pair in pairs) / count if count else 0.0,
        sum(ndcg_at(*pair, 10) for pair in pairs) / count if count else 0.0,
        sum(reciprocal_rank(*pair) for pair in pairs) / count if count else 0.0,
        sum(len(a.leaked[ranker]) for a in answers),
    )


def evaluation_json(evaluation: Evaluation) -> dict[str, Any]:
    """The scores as plain dictionaries, with the metric names of ranx."""
    parts = {"groups": evaluation.groups, "rankers": evaluation.rankers, "rankers_held_out": evaluation.rankers_held_out}
    return {
        **{name: [_score_json(row) for row in rows] for name, rows in parts.items()},
        "refusals": evaluation.refusals,
        "refusal_accuracy": round(evaluation.refusal_accuracy, 4),
        "wrongly_refused": list(evaluation.wrongly_refused),
        "questions": [_answer_json(a) for a in evaluation.answers],
    }


def _score_json(row: Score) -> dict[str, Any]:
    return {
        "group": row.group,
        "questions": row.questions,
        "recall@5": round(row.recall_at_5, 4),
        "ndcg@10": round(row.ndcg_at_10, 4),
        "mrr": round(row.mrr, 4),
        "leakage": row.leakage,
    }


def _answer_json(a: Answer) -> dict[str, Any]:
    shown = a.shown["full"]
    return {
        "id": a.query.id,
        "kind": a.query.kind,
        "held_out": a.query.held_out,
        "ndcg@10": round(ndcg_at(shown, a.query.relevant, 10), 4) if a.query.relevant else None,
        "nothing_fits": a.nothing_fits,
        "shown": list(shown),
        "leaked": list(a.leaked["full"]),
    }

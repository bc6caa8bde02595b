"""Candidates to hits: fusion, then named and bounded adjustments, each kept so that a hit can explain itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from indexer.index import Index
from retriever.applicability import Applicability, applicability
from retriever.candidates import Rankings
from retriever.evidence import Evidence, evidence
from retriever.fuse import scaled_sum
from retriever.situation import Situation

# Measured by `warplore eval` on the tuning part of tests/data/queries.yaml (80 questions with an answer, all-MiniLM-L6-v2), where the
# whole ranking has ndcg@10 0.867 and recall@5 0.780. Without vectors 0.844, without tags 0.847, without terms 0.797; a third more or
# less of any one weight loses at most 0.008.
WEIGHTS = {"lexical": 1.0, "dense": 0.6, "structured": 0.6}

# Adjustments, each added to a fused score between 0 and 1. Together they raise recall@5 from 0.749 to 0.780 and ndcg@10 from 0.851 to
# 0.867; what goes without each one alone stands beside it.
APPLICABILITY = {"runs": 0.10, "adapt": -0.10, "never": -0.60, "unknown": 0.0}  # 0.001, and 4 wrong-architecture hits come back
EVIDENCE = {
    "validated-here": 0.12,
    "validated-sibling": 0.10,
    "validated-elsewhere": 0.07,
    "assembled": 0.04,
    "compiled": 0.03,
    "measured-slower": 0.0,
    "stated": 0.0,
    "none": -0.05,
}  # recall@5 0.009; an implementation of another operator counts as "none", else proven kernels lead questions about concepts
SUBJECT = 0.2  # the page of a technique, bottleneck, unit or instruction that the question names: 0.005, reports 0.03
FAMILY_MATCH, FAMILY_MISMATCH = 0.06, -0.08  # 0.003
LANGUAGE_MATCH = 0.05  # 0.01 for questions with a kernel, nothing for the others
UNNAMED = -0.09  # an instruction page, where the question names no instruction: recall@5 0.008, ndcg@10 0.003 with 270 such pages
UNNAMED_GUIDE = -0.06  # a guide, where the question names something else: recall@5 0.010, ndcg@10 0.003 with 43 guides
PRECEDENT = -0.03  # a page that explains comes before a change that used it: recall@5 0.010
# What lost stands behind what won, unless the question asks for it. Without this, 10 questions that do not ask for attempts have one among
# their first five, and their recall@5 falls by 0.008. With it none has, and each question about an attempt shows it among ten, or among
# six once it is measured.
ATTEMPT = -0.25
REVERTED = -0.04  # not measured: the questions hardly ask for reverted changes

# A question is refused when its best text lies below both floors. Among the tuning questions that nothing fits, the nearest are at
# coverage 0.52 and similarity 0.43; answerable ones without any vocabulary word start at similarity 0.49 or are covered whole.
FLOOR_COVERAGE = 0.60
FLOOR_SIMILARITY = 0.45
# A vocabulary word ties a question to the corpus, but many are also everyday words ("padding", "reduce"), so it only lowers the floor.
# Answerable questions with one start at 0.39.
FLOOR_SIMILARITY_TIED = 0.35
_FOREIGN = re.compile(
    r"\b(?:amd|rocm|rocprof|rocblas|mi\d{3}[a-z]?|gfx\d+\w*|sycl|oneapi|opencl|metal|tpu|ascend|fpga)\b|昇腾", re.IGNORECASE
)
"""Other vendors' hardware and tools: beside one of these a vocabulary word ties nothing."""

_ASKS_WHAT_LOST = re.compile(
    r"\b(?:slower|tried|failed|attempts?|in vain|no faster|not faster|worth (?:it|trying)|"
    r"(?:not|\w+n't) (?:help|speed up|pay))\b"
    r"|更慢|没有变快|失败|尝试",
    re.IGNORECASE,
)
"""A question about ideas that did not work."""

_FRONT_MATTER = ["front matter"]  # the trail that `indexer.chunks` gives it; not imported, since that brings a markdown parser


@dataclass(frozen=True, slots=True)
class Hit:
    """One record of an answer."""

    record: dict[str, Any]
    score: float
    """Higher is better; comparable within one answer."""
    parts: dict[str, float] = field(hash=False)
    """What each stage gave: ranks of the three rankings, the fused score and every adjustment."""
    applicability: Applicability
    evidence: Evidence
    path: str
    lines: str
    """`start-end` of the best matching chunk, or of the whole page."""
    why: tuple[str, ...]

    @property
    def id(self) -> str:
        return self.record["id"]

    @property
    def kind(self) -> str:
        return self.record["kind"]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The whole ordered answer to a situation."""

    hits: tuple[Hit, ...]
    """Score descending, then id."""
    nothing_fits: bool
    """True when the question has nothing to do with the corpus; `hits` are then only the nearest misses."""
    excluded: tuple[Hit, ...]
    """Hits left out because they can never run on the GPU."""


def rank(situation: Situation, rankings: Rankings, index: Index, *, include_never: bool = False) -> Ranking:
    """Every candidate scored and ordered."""
    fused = fused_scores(rankings)
    positions = {name: {c.record_id: place for place, c in enumerate(getattr(rankings, name), start=1)} for name in WEIGHTS}
    rows = _best_rows(rankings)
    names_instruction = any(id.startswith("isa/") for id in rankings.subjects)
    hits = []
    for id, score in fused.items():
        parts = {f"{name}_rank": float(places[id]) for name, places in positions.items() if id in places} | {"fused": round(score, 4)}
        if id in rankings.subjects:
            parts["subject"] = SUBJECT
        if index.records[id]["kind"] == "isa" and not names_instruction:
            parts["unnamed"] = UNNAMED
        if index.records[id]["kind"] == "guide" and rankings.subjects and id not in rankings.subjects:
            parts["unnamed"] = UNNAMED_GUIDE
        if index.records[id]["kind"] == "pr":
            parts["precedent"] = PRECEDENT
        if index.records[id]["kind"] == "attempt" and not _ASKS_WHAT_LOST.search(situation.ask):
            parts["attempt"] = ATTEMPT
        hits.append(_hit(index.records[id], parts, rows.get(id), situation, index))
    hits.sort(key=lambda hit: (-hit.score, hit.id))
    never = tuple(hit for hit in hits if hit.applicability.status == "never")
    kept = tuple(hits) if include_never else tuple(hit for hit in hits if hit.applicability.status != "never")
    return Ranking(kept, nothing_fits(situation, rankings), () if include_never else never)


def _best_rows(rankings: Rankings) -> dict[str, int | None]:
    """The chunk to show of each record: that of the text ranker which puts the record nearer to its own best."""
    best: dict[str, tuple[float, int | None]] = {}
    for ranking in (rankings.lexical, rankings.dense):
        for candidate in ranking:
            share = candidate.score / ranking[0].score if ranking[0].score > 0 else 0.0
            if candidate.record_id not in best or share > best[candidate.record_id][0]:
                best[candidate.record_id] = (share, candidate.row)
    return {id: row for id, (_, row) in best.items()}


def fused_scores(rankings: Rankings) -> dict[str, float]:
    """Score by record id before any adjustment."""
    return scaled_sum({name: {c.record_id: c.score for c in getattr(rankings, name)} for name in WEIGHTS}, WEIGHTS)


def nothing_fits(situation: Situation, rankings: Rankings) -> bool:
    """Whether neither the text nor anything that came with it ties the question to the corpus."""
    if situation.diagnoses or any(r.source != "ask" and r.kind in ("families", "bottlenecks") for r in situation.readings):
        return False
    tied = any(situation.words(kind) for kind in ("families", "techniques", "bottlenecks", "features"))
    tied = tied and not _FOREIGN.search(situation.ask)
    return rankings.coverage < FLOOR_COVERAGE and rankings.similarity < (FLOOR_SIMILARITY_TIED if tied else FLOOR_SIMILARITY)


def _hit(record: dict[str, Any], parts: dict[str, float], row: int | None, situation: Situation, index: Index) -> Hit:
    usable = applicability(record, situation.gpu)
    proof = evidence(record, situation.gpu)
    adjustments, why = _adjustments(record, situation, usable, proof)
    parts = parts | adjustments
    score = sum(value for name, value in parts.items() if not name.endswith("_rank"))
    path, lines = record["location"].rsplit(":", 1)
    if row is not None and index.chunks[row]["trail"] != _FRONT_MATTER:  # title and summary matched: the whole page is meant
        chunk = index.chunks[row]
        path, lines = chunk["path"], f"{chunk['start']}-{chunk['end']}"
    return Hit(record, round(score, 4), parts, usable, proof, path, lines, why)


def _adjustments(
    record: dict[str, Any], situation: Situation, usable: Applicability, proof: Evidence
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Named adjustments, and the reasons for this record in words."""
    severities = situation.severities
    shared = [word for word in record.get("bottlenecks", ()) if word in severities]
    diagnosed = {b.id for diagnosis in situation.diagnoses for b in diagnosis.bottlenecks}
    why = []
    if measured := [word for word in shared if word in diagnosed]:
        why.append(f"the report shows {', '.join(measured)}")
    elif shared:
        why.append(f"about {', '.join(shared)}")
    families = set(situation.words("families")[:2])
    same = families & set(record.get("families", ()))
    proved = EVIDENCE[proof.level] if same or record["kind"] not in ("zoo", "attempt") else EVIDENCE["none"]
    adjustments = {"applicability": APPLICABILITY[usable.status], "evidence": proved}
    if record["kind"] in ("zoo", "attempt", "pr") and families:
        adjustments["family"] = FAMILY_MATCH if same else FAMILY_MISMATCH
        if same:
            why.append(f"same operator family ({', '.join(sorted(same))})")
    if record["kind"] in ("zoo", "attempt", "pr") and set(situation.words("languages")) & set(record.get("languages", ())):
        adjustments["language"] = LANGUAGE_MATCH
    own = (record["id"].split("/")[1],) if record["kind"] == "technique" else record.get("techniques", ())
    if asked := [word for word in own if word in situation.words("techniques")]:
        why.append(f"uses {', '.join(asked)}" if record["kind"] != "technique" else "the technique asked for")
    elif lacking := [word for word in own if word in situation.missing_techniques]:
        why.append(f"the kernel lacks {', '.join(lacking)}")
    elif wanted := [word for word in own if word in situation.wanted_techniques]:
        why.append(f"{', '.join(wanted)} cures what the report shows")
    if record.get("fate", {}).get("status") in ("reverted", "partly-reverted"):
        adjustments["reverted"] = REVERTED
        why.append("was reverted later: read why before repeating it")
    if usable.status in ("adapt", "never") or (usable.status == "runs" and (record["kind"] == "zoo" or record.get("requires"))):
        why.append(f"{usable.status}: {usable.reason}")  # that a page about every GPU also holds for this one is no reason
    if record["kind"] == "attempt":
        why.append("tried, and did not beat its parent")
    if record["kind"] in ("zoo", "attempt", "isa", "pr"):
        why.append(proof.text)
    return adjustments, tuple(why or ["matches the words of the question"])


def mix_kinds(hits: tuple[Hit, ...], count: int) -> tuple[Hit, ...]:
    """The best `count` hits with no kind taking more than half of the places while others are left; order kept."""
    cap = max(2, (count + 1) // 2)
    taken: list[Hit] = []
    spare: list[Hit] = []
    used: dict[str, int] = {}
    for hit in hits:
        if len(taken) == count:
            break
        if used.get(hit.kind, 0) < cap:
            taken.append(hit)
            used[hit.kind] = used.get(hit.kind, 0) + 1
        else:
            spare.append(hit)
    taken += spare[: count - len(taken)]
    return tuple(sorted(taken, key=lambda hit: (-hit.score, hit.id)))


def search_advice(situation: Situation, ranking: Ranking, hits: tuple[Hit, ...]) -> list[str]:
    """What to do next with an answer: what emptied or narrowed it, and what would sharpen it."""
    advice = []
    if ranking.nothing_fits:
        advice.append(
            "No word of the vocabulary and too few words of the corpus are in the question: "
            "name the operator, the symptom or an instruction."
        )
    elif not hits:
        advice.append("No entry of that kind matches: leave out --kind to see the others.")
    if ranking.excluded and situation.gpu:
        count = len(ranking.excluded)
        advice.append(
            f"{count} {'entry' if count == 1 else 'entries'} can never run on {situation.gpu.name} and stay out; "
            "--all shows them with the reason."
        )
    if situation.gpu is None and hits:
        advice.append("Name the GPU (--gpu H200) to rank by what runs there.")
    if hits and not ranking.nothing_fits:
        advice.append(f"Whole entry: warplore show {hits[0].id}")
    return advice

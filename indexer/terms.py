"""Text to search terms, and BM25 over them.

Vocabulary terms found in the text become terms of their own (`technique:swizzle`), in documents and in questions alike, so that
an alias, English or Chinese, meets the word it stands for.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from indexer.vocabulary import Vocabulary

_WORD = re.compile(r"[a-z_][a-z0-9_]*(?:[.:]+[a-z0-9_]+)*|\d+(?:\.\d+)?|[\u3400-\u9fff]+")
_PARTS = re.compile(r"[a-z]+|\d+")
STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "can",
        "do",
        "does",
        "for",
        "from",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "more",
        "my",
        "not",
        "of",
        "on",
        "or",
        "our",
        "so",
        "such",
        "than",
        "that",
        "the",
        "their",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "use",
        "used",
        "uses",
        "using",
        "very",
        "was",
        "we",
        "what",
        "when",
        "where",
        "which",
        "while",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)


def search_terms(text: str, vocabulary: Vocabulary) -> list[str]:
    """Lower-cased words, the parts of compound identifiers, Chinese bigrams and vocabulary terms of `text`, with repeats."""
    terms: list[str] = []
    for match in _WORD.finditer(text.lower()):
        word = match[0]
        if word[0] >= "\u3400":
            terms += [word[i : i + 2] for i in range(len(word) - 1)] or [word]
        elif word not in STOP_WORDS:
            terms.append(_stem(word))
            parts = _PARTS.findall(word)
            if len(parts) > 1:
                terms += [_stem(part) for part in parts if len(part) > 1 and part not in STOP_WORDS]
    terms += [f"{term.kind}:{term.id}" for term in vocabulary.find(text)]
    return terms


def _stem(word: str) -> str:
    """The word without a plural `s`; nothing cleverer, since kernel vocabulary is mostly identifiers."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


@dataclass(frozen=True)
class TermIndex:
    """BM25 over the terms of every chunk.

    bm25s computes the scores when the index is built; a question only adds up columns of them, which needs numpy alone: importing
    bm25s brings scipy and costs 0.35 s, a quarter of a one-shot search.
    """

    _columns: dict[str, int]
    """Column of each term."""
    _idf: dict[str, float]
    _starts: np.ndarray
    """`(n_terms + 1,)`: where each column begins in `_rows` and `_scores`."""
    _rows: np.ndarray
    _scores: np.ndarray
    _count: int
    """Chunks."""

    @classmethod
    def build(cls, documents: list[list[str]]) -> TermIndex:
        """An index of `documents`, each a list of terms."""
        import bm25s

        bm25 = bm25s.BM25(method="lucene")
        bm25.index(documents, show_progress=False)
        frequency: dict[str, int] = {}
        for document in documents:
            for term in set(document):
                frequency[term] = frequency.get(term, 0) + 1
        count = len(documents)
        idf = {term: float(np.log1p((count - n + 0.5) / (n + 0.5))) for term, n in frequency.items()}
        columns = {str(term): int(column) for term, column in bm25.vocab_dict.items() if term in idf}
        return cls(columns, idf, *(np.asarray(bm25.scores[name]) for name in ("indptr", "indices", "data")), count)

    def scores(self, terms: list[str]) -> np.ndarray:
        """`(n_chunks,) float32` BM25 scores; zeros when no term is known."""
        scores = np.zeros(self._count, dtype=np.float32)
        for term in terms:
            if (column := self._columns.get(term)) is not None:
                span = slice(self._starts[column], self._starts[column + 1])
                scores[self._rows[span]] += self._scores[span]
        return scores

    def coverage(self, terms: list[str], row: int) -> float:
        """Share of the question's inverse-document-frequency mass that chunk `row` holds, 0 to 1."""
        unseen = max(self._idf.values(), default=1.0)
        total = held = 0.0
        for term in dict.fromkeys(terms):
            weight = self._idf.get(term, unseen)
            total += weight
            if self.scores([term])[row] > 0:
                held += weight
        return held / total if total else 0.0

    def save(self, folder: Path) -> None:
        np.savez(folder / "bm25.npz", starts=self._starts, rows=self._rows, scores=self._scores, count=self._count)
        text = json.dumps({"columns": self._columns, "idf": self._idf}, ensure_ascii=False, sort_keys=True)
        (folder / "terms.json").write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> TermIndex:
        body = json.loads((folder / "terms.json").read_text(encoding="utf-8"))
        with np.load(folder / "bm25.npz") as arrays:
            return cls(body["columns"], body["idf"], arrays["starts"], arrays["rows"], arrays["scores"], int(arrays["count"]))

"""What the text rankers are asked: the question without the words that say nothing about its subject."""

from __future__ import annotations

import re

from indexer.gpus import Gpu
from indexer.terms import search_terms
from indexer.vocabulary import Vocabulary
from retriever.situation import Situation

_ASKING = """
about achieve already also always am any anything approach best better both change could doing done everything fast faster find get
gets getting go good got help here huge if instead just keep less like lot lots make makes making many may much must need needs
never new now only optimal optimise optimising optimize optimizing other per please possible proven really reach see should show
slow slower some speed still take taken thing time too try up want way well without work would write wrong yet
"""
QUESTION_WORDS = frozenset(_ASKING.split())
"""Words of how people ask, not of what they ask about; rare in the corpus, so BM25 would weigh them most: 0.005 ndcg@10."""

_CHINESE = re.compile(r"[\u3400-\u9fff]")


def ranked_text(situation: Situation, vocabulary: Vocabulary) -> str:
    """The question in words, without the names of its GPU: they match every page that was measured there (0.006 ndcg@10)."""
    text = situation.query_text(vocabulary)
    return _without_gpu(text, situation.gpu) if situation.gpu else text


def ranked_terms(text: str, vocabulary: Vocabulary) -> list[str]:
    """The search terms of `text` that say what it is about; all of them when none does."""
    terms = search_terms(text, vocabulary)
    kept = [term for term in terms if term not in QUESTION_WORDS]
    return kept or terms


def encoded_text(text: str, vocabulary: Vocabulary) -> str:
    """What the encoder reads; it knows English only, so Chinese becomes the titles of the vocabulary words in it."""
    if not _CHINESE.search(text):
        return text
    rest = _CHINESE.sub(" ", text).split()
    return " ".join((*rest, *(term.title for term in vocabulary.find(text))))


def _without_gpu(text: str, gpu: Gpu) -> str:
    names = {f"sm_{gpu.sm}", f"sm_{gpu.sm}a", f"sm{gpu.sm}", gpu.asked}
    if gpu.product:
        names |= {gpu.product.name, *gpu.product.aliases}
    for name in sorted(names, key=lambda name: (-len(name), name)):
        pattern = r"[\s\-]?".join(map(re.escape, re.split(r"[\s\-]+", name.strip())))
        text = re.sub(rf"(?<![\w.]){pattern}(?![\w])", " ", text, flags=re.IGNORECASE | re.ASCII)
    return text.strip()

"""Misspelt vocabulary words, put right before a question is read."""

from __future__ import annotations

import re
from functools import lru_cache

from rapidfuzz import fuzz, process

from indexer.vocabulary import Vocabulary

_LEAST_LETTERS = 7  # shorter words have too many neighbours
_LEAST_SIMILAR = 88  # of 100 by rapidfuzz's ratio: one letter missing or wrong in nine
_WORD = re.compile(rf"(?<![\w.])[A-Za-z]{{{_LEAST_LETTERS},}}(?![\w.(])")


def respell(text: str, vocabulary: Vocabulary) -> str:
    """`text` with each long word that is one slip away from a word of the vocabulary replaced by that word."""
    known = _words(tuple(name for terms in vocabulary.terms.values() for term in terms.values() for name in (*term.names, term.title)))

    def fix(match: re.Match[str]) -> str:
        word = match[0].lower()
        if word in known or word.removesuffix("s") in known:
            return match[0]
        found = process.extractOne(word, known, scorer=fuzz.ratio, score_cutoff=_LEAST_SIMILAR)
        return found[0] if found else match[0]

    return _WORD.sub(fix, text)


@lru_cache(maxsize=4)
def _words(names: tuple[str, ...]) -> tuple[str, ...]:
    """The long words in `names`, sorted."""
    return tuple(sorted({word for name in names for word in re.findall(r"[a-z]+", name.lower()) if len(word) >= _LEAST_LETTERS}))

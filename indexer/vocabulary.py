"""The shared vocabulary: terms, their aliases, and the reading of terms out of free text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

import yaml

from indexer.errors import CorpusError

KINDS = ("families", "techniques", "bottlenecks", "dtypes", "languages", "features")

_CJK = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Term:
    """One vocabulary word."""

    kind: str
    """One of KINDS."""
    id: str
    title: str
    aliases: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that resolves to this term: the id, the id in words, and the aliases."""
        return (self.id, self.id.replace("-", " "), *self.aliases)


@dataclass(frozen=True)
class Vocabulary:
    """All terms by kind and id."""

    terms: dict[str, dict[str, Term]] = field(hash=False)

    def ids(self, kind: str) -> tuple[str, ...]:
        """The ids of one kind, in file order."""
        return tuple(self.terms[kind])

    def find(self, text: str) -> list[Term]:
        """The terms named in `text`, each once, ordered by first position, then kind.

        A longer name wins over a shorter one that it contains ("shared memory bank conflict" over "shared memory").
        Latin names match on word boundaries and ignore case, plural "s", hyphens and repeated blanks; Chinese names
        match anywhere.
        """
        folded = fold(text)
        found: dict[tuple[str, str], int] = {}
        for pattern in self._patterns:
            for match in pattern.finditer(folded):
                for term in self._by_name.get(match[1]) or self._by_name[match[1].replace(" ", "")]:
                    found.setdefault((term.kind, term.id), match.start())
        order = sorted(found, key=lambda key: (found[key], KINDS.index(key[0]), key[1]))
        return [self.terms[kind][id] for kind, id in order]

    @cached_property
    def _by_name(self) -> dict[str, list[Term]]:
        """Terms by folded name; a Chinese name also without its blanks."""
        by_name: dict[str, list[Term]] = {}
        for kind in KINDS:
            for term in self.terms[kind].values():
                for name in dict.fromkeys(fold(name) for name in term.names):
                    by_name.setdefault(name, []).append(term)
                    if _CJK.search(name) and " " in name:
                        by_name.setdefault(name.replace(" ", ""), []).append(term)
        return by_name

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        """One alternation for Latin names, one for Chinese ones, longest first: the first that matches at a place wins it."""
        names = sorted(self._by_name, key=lambda name: (-len(name), name))
        latin = "|".join(re.escape(name) for name in names if not _CJK.search(name))
        chinese = "|".join(re.escape(name).replace(r"\ ", r"\s?") for name in names if _CJK.search(name))
        return re.compile(rf"(?<![\w.])({latin})s?(?!\w)"), re.compile(rf"({chinese})")


def fold(text: str) -> str:
    """Lower-cased text with hyphens, underscores and runs of blanks as one blank, none at the ends."""
    return re.sub(r"[\s\-_]+", " ", text.lower()).strip()


@lru_cache(maxsize=4)
def load_vocabulary(root: Path) -> Vocabulary:
    """The vocabulary of the corpus at `root`.

    Raises:
        CorpusError: the file is not the mapping that its first lines describe.
    """
    path = root / "kernel_wiki" / "vocabulary.yaml"
    try:
        raw = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        terms = {
            kind: {id: Term(kind, id, body["title"], tuple(map(str, body["aliases"]))) for id, body in raw[kind].items()} for kind in KINDS
        }
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise CorpusError([f"kernel_wiki/vocabulary.yaml:1: not a vocabulary ({error!r}); see the comment at its top"]) from error
    return Vocabulary(terms)

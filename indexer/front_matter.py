"""A corpus page into its front matter and its body."""

from __future__ import annotations

from indexer.errors import CorpusError


def split_front_matter(text: str, where: str) -> tuple[str, str, int]:
    """`(front matter, body, first line number of the body)`.

    Raises:
        CorpusError: the file does not start with a front matter between two `---` lines.
    """
    if not text.startswith("---\n"):
        raise CorpusError([f"{where}:1: no front matter; the first line must be exactly ---"])
    end = text.find("\n---\n", 3)
    if end < 0:
        raise CorpusError([f"{where}:1: front matter is not closed by a line that is exactly ---"])
    front = text[4 : end + 1]
    return front, text[end + 5 :], front.count("\n") + 3

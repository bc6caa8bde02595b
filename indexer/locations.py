"""Where the corpora live: beside the packages in a checkout and in an installed wheel alike."""

from __future__ import annotations

import os
from pathlib import Path

from indexer.errors import InputError

CORPUS_FOLDERS = ("kernel_wiki", "pr_archive", "isa", "skills")


def corpus_root(explicit: str | Path | None = None) -> Path:
    """The folder that holds the corpora: `explicit`, `$WARPLORE_CORPUS`, or the checkout itself.

    Raises:
        InputError: the folder has no `kernel_wiki/vocabulary.yaml`.
    """
    root = Path(explicit or os.environ.get("WARPLORE_CORPUS") or Path(__file__).resolve().parent.parent)
    if not (root / "kernel_wiki" / "vocabulary.yaml").is_file():
        raise InputError(f"{root}: no corpus here (kernel_wiki/vocabulary.yaml is missing); pass --corpus DIR or unset WARPLORE_CORPUS")
    return root

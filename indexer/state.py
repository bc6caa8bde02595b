"""The state of the corpus files: what an index was made from, and whether that is still so."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from indexer.locations import CORPUS_FOLDERS


def corpus_files_state(root: Path, known: dict[str, list] | None = None) -> dict[str, list]:
    """`{path: [size, mtime_ns, sha256]}` of every file that shapes the index.

    A file whose size and time are as in `known` keeps its digest without being read.
    """
    state = {}
    for path in _indexed_files(root):
        name = path.relative_to(root).as_posix()
        stat = path.stat()
        before = (known or {}).get(name)
        if before and before[0] == stat.st_size and before[1] == stat.st_mtime_ns:
            state[name] = before
        else:
            state[name] = [stat.st_size, stat.st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest()]
    return state


def _indexed_files(root: Path) -> Iterable[Path]:
    for folder in CORPUS_FOLDERS:
        for directory, names, files in os.walk(root / folder):
            names[:] = sorted(name for name in names if name not in ("__pycache__", "harness", "reports"))
            for file in sorted(files):
                if file.endswith((".md", ".py", ".cu", ".yaml", ".json")):
                    yield Path(directory) / file


def corpus_digest(state: dict[str, list]) -> str:
    """One hash over the contents of all indexed files."""
    return hashlib.sha256("".join(f"{name}\0{entry[2]}\n" for name, entry in sorted(state.items())).encode()).hexdigest()

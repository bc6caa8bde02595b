"""A built index as its reader sees it: records, chunks, terms and vectors of one generation."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from indexer.errors import IndexMissingError
from indexer.store import VectorStore
from indexer.terms import TermIndex

FORMAT_VERSION = 3
"""Raised whenever what a generation holds changes its shape."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What shaped a generation."""

    format_version: int
    encoder: str
    dimensions: int
    corpus_digest: str
    root: str
    store: str | None
    """Chroma server, when the vectors are not in the folder."""
    records: int
    chunks: int
    files: dict[str, list]
    """`{path: [size, mtime_ns, sha256]}` of the corpus when it was built."""


@dataclass(frozen=True)
class Index:
    """One generation, loaded."""

    manifest: Manifest
    records: dict[str, dict[str, Any]]
    """Front matter by record id, with `id`, `kind`, `location` and, for implementations and attempts, `evidence`."""
    chunks: tuple[dict[str, Any], ...]
    """`{id, record, path, start, end, trail, digest}` in the order of the term index's rows; digest is null for what has no vector."""
    terms: TermIndex
    _folder: Path

    @cached_property
    def chunk_rows(self) -> dict[str, int]:
        """Row of each chunk id."""
        return {chunk["id"]: row for row, chunk in enumerate(self.chunks)}

    @cached_property
    def store(self) -> VectorStore:
        if self.manifest.store:
            return VectorStore(self.manifest.store, f"warplore-{self._folder.name.split('-', 1)[1].rsplit('-', 1)[0]}")
        return VectorStore(self._folder / "chroma")

    def nearest(self, vector: np.ndarray, count: int) -> list[tuple[int, float]]:
        """`(chunk row, cosine similarity)` of the nearest chunks, best first."""
        found = self.store.nearest(vector, min(count, len(self.chunks)))
        return [(self.chunk_rows[id], similarity) for id, similarity in found if id in self.chunk_rows]


def current_generation(folder: Path) -> Path | None:
    """The generation that `folder/current` names; None when there is none."""
    try:
        generation = folder / (folder / "current").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return generation if generation != folder and generation.is_dir() else None


def read_manifest(generation: Path) -> Manifest:
    """The manifest of a generation.

    Raises:
        IndexMissingError: it is absent, damaged, or of another format.
    """
    try:
        raw = json.loads((generation / "manifest.json").read_text(encoding="utf-8"))
        manifest = Manifest(**raw)
    except (OSError, ValueError, TypeError) as error:
        raise IndexMissingError(f"{generation}: the index is damaged ({error}); run `warplore index build --fresh`") from error
    if manifest.format_version != FORMAT_VERSION:
        raise IndexMissingError(
            f"{generation}: index format {manifest.format_version}, this version reads {FORMAT_VERSION}; run `warplore index build`"
        )
    return manifest


def load_index(folder: Path, encoder_name: str | None = None) -> Index:
    """The current index in `folder`.

    Raises:
        IndexMissingError: there is none, it is damaged, or another encoder made it.
    """
    generation = current_generation(folder)
    if generation is None:
        raise IndexMissingError(f"{folder}: no index here; run `warplore index build`")
    manifest = read_manifest(generation)
    if encoder_name and manifest.encoder != encoder_name:
        raise IndexMissingError(f"the index was made by encoder {manifest.encoder}, not {encoder_name}; run `warplore index build`")
    try:
        records = {entry["id"]: entry for entry in json.loads((generation / "records.json").read_text(encoding="utf-8"))}
        chunks = tuple(json.loads((generation / "chunks.json").read_text(encoding="utf-8")))
        terms = TermIndex.load(generation / "bm25")
    except Exception as error:  # JSON, numpy and bm25s each raise their own on damaged files
        raise IndexMissingError(f"{generation}: the index is damaged ({error}); run `warplore index build --fresh`") from error
    return Index(manifest, records, chunks, terms, generation)

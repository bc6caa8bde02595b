"""Build the index of a corpus: incremental, atomic, one builder at a time.

An index folder holds generations. A build writes a new generation beside the one in use and then moves the `current` pointer, so
a reader always sees a whole index and a killed build changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout

from indexer.chunks import Chunk, chunk_record
from indexer.corpus import Corpus, load_corpus
from indexer.encoder import Encoder
from indexer.errors import InputError
from indexer.evidence import zoo_evidence
from indexer.index import FORMAT_VERSION, Manifest, current_generation, read_manifest
from indexer.locations import CORPUS_FOLDERS
from indexer.records import Record, ZooRecord
from indexer.store import VectorStore
from indexer.terms import TermIndex, search_terms

_ENCODE_STEP = 64  # chunks between two reports of progress
KEEP_SECONDS = 600  # a superseded generation stays this long: a reader opens its vectors within seconds of its records
Progress = Callable[[str, int, int], None]
"""Called with `(step, done, total)`."""


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build did."""

    records: int
    chunks: int
    encoded: int
    """Chunks whose vector had to be computed; the others were reused."""
    problems: tuple[str, ...]
    """Entries left out because they break their schema."""


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


def build_index(
    root: Path, folder: Path, encoder: Encoder, *, store: str | None = None, fresh: bool = False, progress: Progress | None = None
) -> BuildResult:
    """Bring the index in `folder` up to date with the corpus at `root`.

    Raises:
        InputError: the folder cannot be written, or another build holds it for a minute.
        CorpusError: the vocabulary or the GPU table is broken.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "build.lock", timeout=60)
        with lock:
            return _build(root, folder, encoder, store, fresh, progress or (lambda *_: None))
    except Timeout as error:
        raise InputError(
            f"{folder}: another build has been running for a minute; wait for it, or remove build.lock if none runs"
        ) from error
    except (PermissionError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise InputError(
            f"{folder}: the index cannot be written here ({error.strerror or error}); set WARPLORE_CACHE to a writable folder"
        ) from error


def _build(root: Path, folder: Path, encoder: Encoder, store: str | None, fresh: bool, progress: Progress) -> BuildResult:
    state = corpus_files_state(root)
    corpus = load_corpus(root)
    chunks = [chunk for record in corpus.records.values() for chunk in chunk_record(record, root, encoder.max_tokens, encoder.count_tokens)]
    previous = None if fresh else _reusable(folder, encoder)
    prose = [chunk for chunk in chunks if chunk.is_prose]
    vectors, encoded = _vectors(prose, encoder, previous, progress)
    digest = corpus_digest(state)
    name = f"{digest[:12]}-{hashlib.sha256(encoder.name.encode()).hexdigest()[:6]}"
    target = _fresh_folder(folder, name)
    progress("writing", 0, 1)
    TermIndex.build([_document_terms(chunk, corpus) for chunk in chunks]).save(target / "bm25")
    np.save(target / "vectors.npy", vectors)
    collection = f"warplore-{name}" if store else "chunks"
    VectorStore(store or target / "chroma", collection).fill([chunk.id for chunk in prose], vectors)
    _write_json(target / "records.json", [_record_entry(record, root) for record in corpus.records.values()])
    _write_json(target / "chunks.json", [_chunk_entry(chunk) for chunk in chunks])
    manifest = Manifest(FORMAT_VERSION, encoder.name, encoder.dimensions, digest, str(root), store, len(corpus.records), len(chunks), state)
    _write_json(target / "manifest.json", asdict(manifest))
    _switch(folder, target.name)
    progress("writing", 1, 1)
    return BuildResult(len(corpus.records), len(chunks), encoded, corpus.problems)


def _reusable(folder: Path, encoder: Encoder) -> tuple[dict[str, int], np.ndarray] | None:
    """Row by chunk digest, and the vectors, of the current generation when this encoder made them."""
    generation = current_generation(folder)
    if generation is None:
        return None
    try:
        if read_manifest(generation).encoder != encoder.name:
            return None
        chunks = json.loads((generation / "chunks.json").read_text(encoding="utf-8"))
        rows = {digest: row for row, digest in enumerate(chunk["digest"] for chunk in chunks if chunk["digest"])}
        return rows, np.load(generation / "vectors.npy")
    except Exception:  # a damaged generation costs a full encoding, nothing else
        return None


def _vectors(
    chunks: list[Chunk], encoder: Encoder, previous: tuple[dict[str, int], np.ndarray] | None, progress: Progress
) -> tuple[np.ndarray, int]:
    rows, old = previous or ({}, np.empty((0, encoder.dimensions), dtype=np.float32))
    vectors = np.empty((len(chunks), encoder.dimensions), dtype=np.float32)
    missing = []
    for position, chunk in enumerate(chunks):
        row = rows.get(chunk.digest)
        if row is None or row >= len(old):
            missing.append(position)
        else:
            vectors[position] = old[row]
    missing.sort(key=lambda position: len(chunks[position].embedded_text))  # neighbours of like length pad less
    for start in range(0, len(missing), _ENCODE_STEP):
        progress("encoding", start, len(missing))
        part = missing[start : start + _ENCODE_STEP]
        vectors[part] = encoder.encode([chunks[position].embedded_text for position in part])
    if missing:
        progress("encoding", len(missing), len(missing))
    return vectors, len(missing)


def _document_terms(chunk: Chunk, corpus: Corpus) -> list[str]:
    """The chunk's own terms, and its record's tags once, so that a section is found under its page's subject."""
    record = corpus.records[chunk.record_id]
    tags = [
        f"{kind}:{word}"
        for kind, words in (
            ("families", record.families),
            ("techniques", record.techniques),
            ("bottlenecks", record.bottlenecks),
            ("languages", record.languages),
            ("features", record.requires),
        )
        for word in words
    ]
    return search_terms(chunk.searched_text, corpus.vocabulary) + tags


def _record_entry(record: Record, root: Path) -> dict:
    entry = record.model_dump(mode="json", exclude_defaults=True)
    entry |= {"id": record.id, "kind": record.kind, "location": record.location}
    if isinstance(record, ZooRecord):
        entry["evidence"] = zoo_evidence(root, record)
    return entry


def _chunk_entry(chunk: Chunk) -> dict:
    return {
        "id": chunk.id,
        "record": chunk.record_id,
        "path": chunk.path,
        "start": chunk.start,
        "end": chunk.end,
        "trail": chunk.trail,
        "digest": chunk.digest if chunk.is_prose else None,
    }


def _fresh_folder(folder: Path, name: str) -> Path:
    """An empty folder for a new generation; a leftover of a killed build under the same name is never reused."""
    number = 0
    while (target := folder / f"generation-{name}-{number}").exists():
        number += 1
    (target / "bm25").mkdir(parents=True)
    return target


def _switch(folder: Path, name: str) -> None:
    """Make `name` current and remove older generations, but for those that a reader may still be opening."""
    before = current_generation(folder)
    part = folder / "current.part"
    part.write_text(name, encoding="utf-8")
    os.replace(part, folder / "current")
    keep = {name, before.name if before else name}
    for generation in folder.glob("generation-*"):
        if generation.name not in keep and time.time() - generation.stat().st_mtime > KEEP_SECONDS:
            shutil.rmtree(generation, ignore_errors=True)


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")

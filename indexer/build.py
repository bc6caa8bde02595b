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
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from indexer.chunks import Chunk, chunk_record
from indexer.corpus import corpus_files, read_record, record_id
from indexer.encoder import Encoder
from indexer.errors import CorpusError, InputError
from indexer.evidence import zoo_evidence
from indexer.index import FORMAT_VERSION, Manifest, current_generation, read_manifest
from indexer.records import Record, ZooRecord
from indexer.state import corpus_digest, corpus_files_state
from indexer.store import VectorStore
from indexer.terms import TermIndex, search_terms
from indexer.vocabulary import Vocabulary, load_vocabulary

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
    previous = _Previous() if fresh else _previous(folder, encoder)
    state = corpus_files_state(root, previous.files)
    digest = corpus_digest(state)
    name = f"{digest[:12]}-{hashlib.sha256(encoder.name.encode()).hexdigest()[:6]}"
    server = VectorStore(store, f"warplore-{name}") if store else None  # asked before the slow part: it may not answer
    entries, problems = _entries(root, encoder, state, previous, progress)
    prose = [chunk for entry in entries for chunk in entry["chunks"] if chunk["digest"]]
    vectors, encoded = _vectors(prose, encoder, previous, progress)
    target = _fresh_folder(folder, name)
    progress("writing", 0, 1)
    chunks = [chunk for entry in entries for chunk in entry["chunks"]]
    TermIndex.build([terms for entry in entries for terms in entry["terms"]]).save(target / "bm25")
    np.save(target / "vectors.npy", vectors)
    (server or VectorStore(target / "chroma")).fill([chunk["id"] for chunk in prose], vectors)
    _write_json(target / "records.json", [entry["record"] for entry in entries])
    _write_json(target / "chunks.json", [{key: value for key, value in chunk.items() if key != "text"} for chunk in chunks])
    _write_json(target / "terms.json", {entry["record"]["id"]: {"key": entry["key"], "terms": entry["terms"]} for entry in entries})
    _write_json(
        target / "manifest.json",
        asdict(Manifest(FORMAT_VERSION, encoder.name, encoder.dimensions, digest, str(root), store, len(entries), len(chunks), state)),
    )
    _switch(folder, target.name)
    progress("writing", 1, 1)
    return BuildResult(len(entries), len(chunks), encoded, tuple(sorted(problems)))


@dataclass(frozen=True, slots=True)
class _Previous:
    """What the current generation offers for reuse; empty when it is absent, damaged or another encoder's."""

    files: dict[str, list] = field(default_factory=dict)
    entries: dict[str, dict] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    """Row in `vectors` by chunk digest."""
    vectors: np.ndarray | None = None


def _previous(folder: Path, encoder: Encoder) -> _Previous:
    generation = current_generation(folder)
    if generation is None:
        return _Previous()
    try:
        manifest = read_manifest(generation)
        if manifest.encoder != encoder.name:
            return _Previous()
        records, chunks, terms = (
            json.loads((generation / f"{name}.json").read_text(encoding="utf-8")) for name in ("records", "chunks", "terms")
        )
        vectors = np.load(generation / "vectors.npy")
        by_record: dict[str, list[dict]] = {}
        for chunk in chunks:
            by_record.setdefault(chunk["record"], []).append(chunk)
        entries = {record["id"]: {"record": record, "chunks": by_record[record["id"]], **terms[record["id"]]} for record in records}
        rows = {digest: row for row, digest in enumerate(chunk["digest"] for chunk in chunks if chunk["digest"])}
        return _Previous(manifest.files, entries, rows, vectors) if len(rows) <= len(vectors) else _Previous()
    except Exception:  # a damaged generation costs a full build, nothing else
        return _Previous()


def _entries(
    root: Path, encoder: Encoder, state: dict[str, list], previous: _Previous, progress: Progress
) -> tuple[list[dict[str, Any]], list[str]]:
    """`{key, record, chunks, terms}` of every valid page, in id order, reused where none of its files changed; and the problems."""
    vocabulary = load_vocabulary(root)
    verified = _verified(root)
    entries, problems = {}, []
    files = list(corpus_files(root))
    for done, (kind, path) in enumerate(files):
        progress("reading", done, len(files))
        id = record_id(root, kind, path)
        key = _entry_key(root, path, kind, state)
        if id in previous.entries and previous.entries[id]["key"] == key:
            entries[id] = previous.entries[id]
            continue
        try:
            record = read_record(root, kind, path, vocabulary)
        except CorpusError as error:
            problems += error.problems
            continue
        chunks = chunk_record(record, root, encoder.max_tokens, encoder.count_tokens)
        entries[id] = {
            "key": key,
            "record": _record_entry(record, root, verified),
            "chunks": [_chunk_entry(chunk) for chunk in chunks],
            "terms": [_document_terms(chunk, record, vocabulary) for chunk in chunks],
        }
    progress("reading", len(files), len(files))
    return [entries[id] for id in sorted(entries)], problems


def _entry_key(root: Path, page: Path, kind: str, state: dict[str, list]) -> str:
    """Hash of all files that shape an entry: its page, the vocabulary, and what lies beside code or an instruction."""
    own = page.relative_to(root).as_posix()
    names = {own, "kernel_wiki/vocabulary.yaml"}
    if kind in ("zoo", "attempt"):
        folder = own.rsplit("/", 1)[0]
        names |= {
            name for name in state if name.startswith(folder + "/") and name.rsplit("/", 1)[1].split(".")[0] in (page.stem, "contract")
        }
        names.add(f"kernel_wiki/zoo/{page.parent.name}/contract.py")
    if kind == "isa":
        names.add("isa/verified.json")
    return hashlib.sha256("".join(f"{name}\0{state[name][2]}\n" for name in sorted(names) if name in state).encode()).hexdigest()[:24]


def _vectors(prose: list[dict[str, Any]], encoder: Encoder, previous: _Previous, progress: Progress) -> tuple[np.ndarray, int]:
    """`(len(prose), dimensions) float32` and how many rows had to be computed."""
    vectors = np.empty((len(prose), encoder.dimensions), dtype=np.float32)
    missing = []
    for position, chunk in enumerate(prose):
        row = previous.rows.get(chunk["digest"])
        if row is None or previous.vectors is None:
            missing.append(position)
        else:
            vectors[position] = previous.vectors[row]
    missing.sort(key=lambda position: len(prose[position]["text"]))  # neighbours of like length pad less
    for start in range(0, len(missing), _ENCODE_STEP):
        progress("encoding", start, len(missing))
        part = missing[start : start + _ENCODE_STEP]
        vectors[part] = encoder.encode([prose[position]["text"] for position in part])
    if missing:
        progress("encoding", len(missing), len(missing))
    return vectors, len(missing)


def _document_terms(chunk: Chunk, record: Record, vocabulary: Vocabulary) -> list[str]:
    """The chunk's own terms, and its record's tags once, so that a section is found under its page's subject."""
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
    return search_terms(chunk.searched_text, vocabulary) + tags


def _verified(root: Path) -> frozenset[str]:
    """Ids of the instructions whose examples an assembler has answered for."""
    path = root / "isa" / "verified.json"
    try:
        return frozenset(json.loads(path.read_text(encoding="utf-8"))["entries"])
    except (OSError, ValueError, KeyError):
        return frozenset()


def _record_entry(record: Record, root: Path, verified: frozenset[str]) -> dict[str, Any]:
    entry = record.model_dump(mode="json", exclude_defaults=True)
    entry |= {"id": record.id, "kind": record.kind, "location": record.location}
    if isinstance(record, ZooRecord):
        entry["evidence"] = zoo_evidence(root, record)
    if record.id in verified:
        entry["verified"] = True
    return entry


def _chunk_entry(chunk: Chunk) -> dict[str, Any]:
    return {
        "id": chunk.id,
        "record": chunk.record_id,
        "path": chunk.path,
        "start": chunk.start,
        "end": chunk.end,
        "trail": chunk.trail,
        "digest": chunk.digest if chunk.is_prose else None,
        "text": chunk.embedded_text,
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

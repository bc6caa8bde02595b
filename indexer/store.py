"""The vector store: Chroma, embedded in a folder or over HTTP. The only module that knows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import numpy as np

from indexer.errors import IndexMissingError, InputError

# Chroma grows its graph anew in each process, on several threads, and at its default breadth misses 22 of 8,000 nearest chunks, other
# ones each time. At this breadth it misses none, so that an answer is the same in every process; a query still takes 3 ms.
_GRAPH = {"space": "cosine", "ef_search": 1000, "max_neighbors": 32}
_ADD_BATCH = 1000  # Chroma's SQLite takes about 5,400 rows an insert at most


class VectorStore:
    """One Chroma collection of chunk vectors under cosine similarity. Metadata stays outside: Chroma's filter costs 20 times the query."""

    def __init__(self, location: str | Path, collection: str = "chunks"):
        import chromadb
        from chromadb.config import Settings

        settings = Settings(anonymized_telemetry=False)
        url = urlparse(str(location)) if isinstance(location, str) else None
        if url and url.scheme not in ("http", "https"):
            raise InputError(f'--store "{location}": not the URL of a Chroma server; give http://HOST:PORT, or leave it out')
        if url:
            try:
                port = url.port or (443 if url.scheme == "https" else 8000)
                self._client = chromadb.HttpClient(host=url.hostname or "", port=port, ssl=url.scheme == "https", settings=settings)
            except (ValueError, OSError) as error:
                raise InputError(f"{location}: no Chroma server answers there ({error}); start one with `chroma run`") from error
        else:
            try:
                self._client = chromadb.PersistentClient(str(location), settings=settings)
            except Exception as error:  # Chroma passes on SQLite's errors and the file system's
                raise _unreadable(error) from error
        self._name = collection
        self._collection: Any = None  # opened by the first question: asking Chroma for it costs as much as the query

    def fill(self, ids: list[str], vectors: np.ndarray) -> None:
        """Replace the collection by these vectors."""
        self.drop()
        collection = self._client.create_collection(self._name, embedding_function=None, configuration={"hnsw": _GRAPH})
        for start in range(0, len(ids), _ADD_BATCH):
            collection.add(ids=ids[start : start + _ADD_BATCH], embeddings=vectors[start : start + _ADD_BATCH])

    def drop(self) -> None:
        """Delete the collection if it exists."""
        from chromadb.errors import NotFoundError

        self._collection = None
        try:
            self._client.delete_collection(self._name)
        except (NotFoundError, ValueError):
            return

    def nearest(self, vector: np.ndarray, count: int) -> list[tuple[str, float]]:
        """`(chunk id, cosine similarity)` of the `count` nearest vectors, best first, ties by id.

        Raises:
            IndexMissingError: the collection is not there.
        """
        try:
            self._collection = self._collection or self._client.get_collection(self._name, embedding_function=None)
            found = self._collection.query(query_embeddings=[vector.tolist()], n_results=count, include=["distances"])
        except Exception as error:  # Chroma raises its own, SQLite's and the transport's errors here
            raise _unreadable(error) from error
        pairs = sorted(zip(found["distances"][0], found["ids"][0]))
        return [(id, 1.0 - distance) for distance, id in pairs]


def _unreadable(error: Exception) -> IndexMissingError:
    return IndexMissingError(f"the vector store cannot be read ({error}); run `warplore index build --fresh`")

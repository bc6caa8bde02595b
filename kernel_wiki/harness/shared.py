"""Host memory that two processes map: a file which is gone as soon as both have.

torch's own way (`share_memory_`) keeps a manager process with sockets that the candidate holds too: what it writes there kills the manager
and with it the referee.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True, slots=True)
class Mapped:
    """A tensor by the name of its file, as a process that maps it too needs it."""

    path: str
    dtype: torch.dtype
    elements: int
    """Of the whole file."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    """In elements."""

    def open(self) -> torch.Tensor:
        """The tensor over the mapped file."""
        return _map(self.path, self.elements, self.dtype).as_strided(self.shape, self.strides, self.offset)


class Files:
    """What one process allocates for another to map."""

    def __init__(self) -> None:
        self._paths: dict[int, Path] = {}

    def empty(self, elements: int, dtype: torch.dtype) -> torch.Tensor:
        """A flat tensor of at least one element over a new file, to be named by `handle` and then forgotten by `unlink`."""
        descriptor, path = tempfile.mkstemp(prefix="warplore-")
        os.close(descriptor)
        memory = _map(path, max(1, elements), dtype)
        self._paths[memory.data_ptr()] = Path(path)
        return memory

    def handle(self, tensor: torch.Tensor) -> Mapped:
        """For a tensor in memory of `empty`, before `unlink`."""
        storage = tensor.untyped_storage()
        elements = storage.nbytes() // tensor.element_size()
        path = str(self._paths[storage.data_ptr()])
        return Mapped(path, tensor.dtype, elements, tuple(tensor.shape), tensor.stride(), tensor.storage_offset())

    def unlink(self) -> None:
        """Remove the files; what is mapped stays."""
        for path in self._paths.values():
            path.unlink(missing_ok=True)
        self._paths.clear()


def _map(path: str, elements: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.from_file(path, shared=True, size=elements * dtype.itemsize, dtype=torch.uint8).view(dtype)

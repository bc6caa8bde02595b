"""Host memory that two processes map: a file without a name, which travels as a descriptor and cannot shrink under either of them.

A file with a name could be opened by whoever watches the folder, and cut to nothing while the referee reads it. torch's own way
(`share_memory_`) keeps a manager process with sockets that the candidate holds too: what it writes there kills the manager and with it the
referee.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Mapped:
    """A tensor by its file, as a process that maps it too needs it."""

    descriptor: int
    """In the process that allocated it; the other one is sent its own."""
    dtype: torch.dtype
    elements: int
    """Of the whole file."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    """In elements."""

    def open(self, receive: Callable[[], int]) -> torch.Tensor:
        """The tensor over the mapped file, whose descriptor `receive` returns."""
        descriptor = receive()
        try:
            return _map(descriptor, self.elements, self.dtype).as_strided(self.shape, self.strides, self.offset)
        finally:
            os.close(descriptor)


class Files:
    """What one process allocates for another to map."""

    def __init__(self) -> None:
        self._descriptors: dict[int, int] = {}

    def empty(self, elements: int, dtype: torch.dtype) -> torch.Tensor:
        """A flat tensor of at least one element over a new file, to be named by `handle` and then forgotten by `unlink`."""
        descriptor = _new_file(max(1, elements) * dtype.itemsize)
        memory = _map(descriptor, max(1, elements), dtype)
        self._descriptors[memory.data_ptr()] = descriptor
        return memory

    def handle(self, tensor: torch.Tensor) -> Mapped:
        """For a tensor in memory of `empty`, before `unlink`."""
        storage = tensor.untyped_storage()
        elements = storage.nbytes() // tensor.element_size()
        descriptor = self._descriptors[storage.data_ptr()]
        return Mapped(descriptor, tensor.dtype, elements, tuple(tensor.shape), tensor.stride(), tensor.storage_offset())

    def unlink(self) -> None:
        """Close the files; what is mapped stays."""
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()


def _new_file(size_bytes: int) -> int:
    """The descriptor of a file that has no name; on Linux one whose size nobody can change any more."""
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryFile() as file:
            file.truncate(size_bytes)
            return os.dup(file.fileno())
    descriptor = os.memfd_create("warplore", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size_bytes)
    with contextlib.suppress(OSError):  # a kernel that refuses seals still has memory without a name
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return descriptor


def _map(descriptor: int, elements: int, dtype: torch.dtype) -> torch.Tensor:
    path = f"/dev/fd/{descriptor}"
    return torch.from_file(path, shared=True, size=elements * dtype.itemsize, dtype=torch.uint8).view(dtype)

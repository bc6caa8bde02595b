"""Memory that the referee shares with a candidate's process, and the deadlines of its calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch
import torch.multiprocessing  # teaches the pickler CUDA IPC

from .candidate import Candidate
from .shared import Files

CALL_FLOOR_S = 10
CALL_MULTIPLE = 300
"""After the first call of a case, in which it compiles, a candidate may take this many times the first baseline, and never less than
CALL_FLOOR_S."""


@dataclass(slots=True)
class Bench:
    """What the checks of one candidate share: the referee's memory, its clock of deadlines, and the data bound at present."""

    contract: ModuleType
    device: str
    candidate: Candidate
    seed: int
    timeout_s: float
    deterministic: bool = False
    only_given: bool = False
    """Check the cases asked for and draw none."""
    call_s: float = CALL_FLOOR_S
    pool: Any = None
    """Device memory that is shared with the runner; nothing that a candidate must not see is allocated there."""

    files: Files = field(default_factory=Files)
    """The same on the CPU."""

    def __post_init__(self) -> None:
        if self.device == "cuda":
            self.pool = torch.cuda.MemPool()

    def shared(self, value: Any) -> Any:
        """A copy of a tensor, strides kept, in memory that the runner can map; other values as they are."""
        if not isinstance(value, torch.Tensor):
            return value
        base, offset = value, value.storage_offset()
        extent = offset + (sum((n - 1) * s for n, s in zip(value.shape, value.stride())) + 1 if value.numel() else 0)
        view = self._empty(max(1, extent), value.dtype).as_strided(value.shape, value.stride(), offset)
        view.copy_(base)
        return view

    def bind(self, slot: str, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Share inputs with the runner under a name; the shared tensors, which the referee may rewrite later."""
        shared = tuple(self.shared(value) for value in inputs)
        self.settle()
        with self._sent(shared) as sent:
            self.candidate.ask("bind", self.timeout_s, slot=slot, inputs=sent)
        return shared

    def bind_outputs(self, expected: tuple, dtypes: tuple) -> tuple[torch.Tensor, ...]:
        """Buffers for the outputs, not yet filled."""
        buffers = tuple(self._empty(ref.numel(), dtype).view(ref.shape) for ref, dtype in zip(expected, dtypes))
        with self._sent(buffers) as sent:
            self.candidate.ask("buffers", self.timeout_s, buffers=sent)
        return buffers

    def _empty(self, elements: int, dtype: torch.dtype) -> torch.Tensor:
        if self.device != "cuda":
            return self.files.empty(elements, dtype)[:elements]
        with torch.cuda.use_mem_pool(self.pool):
            return torch.empty(elements, dtype=dtype, device=self.device)

    @contextlib.contextmanager
    def _sent(self, values: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        """The values as the runner can open them: torch's CUDA IPC, or a file until it has."""
        try:
            handle = self.files.handle if self.device != "cuda" else lambda tensor: tensor
            yield tuple(handle(value) if isinstance(value, torch.Tensor) else value for value in values)
        finally:
            self.files.unlink()

    def settle(self) -> None:
        """Wait for this process's work on the device: the runner does not see this process's streams."""
        if self.device == "cuda":
            torch.cuda.synchronize()

    def release(self) -> None:
        """Forget the data of a case on both sides."""
        self.candidate.ask("release", self.timeout_s)
        if self.device == "cuda":
            torch.cuda.empty_cache()

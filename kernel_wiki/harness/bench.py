"""Memory that the referee shares with a candidate's process, and the deadlines of its calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
import torch.multiprocessing

from .candidate import Candidate

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

    def __post_init__(self) -> None:
        torch.multiprocessing.set_sharing_strategy("file_system")  # names, not descriptors: the runner is no child of multiprocessing
        if self.device == "cuda":
            self.pool = torch.cuda.MemPool()

    @contextlib.contextmanager
    def sharing(self) -> Iterator[None]:
        """Allocations inside are seen by the runner."""
        with torch.cuda.use_mem_pool(self.pool) if self.pool is not None else contextlib.nullcontext():
            yield

    def shared(self, value: Any) -> Any:
        """A copy of a tensor, strides kept, in memory shared with the runner; other values as they are."""
        if not isinstance(value, torch.Tensor):
            return value
        with self.sharing():
            base, offset = value, value.storage_offset()
            extent = offset + (sum((n - 1) * s for n, s in zip(value.shape, value.stride())) + 1 if value.numel() else 0)
            memory = torch.empty(max(1, extent), dtype=value.dtype, device=self.device)
        if self.device == "cpu":
            memory.share_memory_()
        view = memory.as_strided(value.shape, value.stride(), offset)
        view.copy_(base)
        return view

    def bind(self, slot: str, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Share inputs with the runner under a name; the shared tensors, which the referee may rewrite later."""
        shared = tuple(self.shared(value) for value in inputs)
        self.settle()
        self.candidate.ask("bind", self.timeout_s, slot=slot, inputs=shared)
        return shared

    def bind_outputs(self, expected: tuple, dtypes: tuple) -> tuple[torch.Tensor, ...]:
        """Buffers for the outputs, full of NaN."""
        with self.sharing():
            buffers = tuple(torch.empty(ref.shape, dtype=dtype, device=self.device) for ref, dtype in zip(expected, dtypes))
        if self.device == "cpu":
            for buffer in buffers:
                buffer.share_memory_()
        self.candidate.ask("buffers", self.timeout_s, buffers=buffers)
        return buffers

    def settle(self) -> None:
        """Wait for this process's work on the device: the runner does not see this process's streams."""
        if self.device == "cuda":
            torch.cuda.synchronize()

    def release(self) -> None:
        """Forget the data of a case on both sides."""
        self.candidate.ask("release", self.timeout_s)
        if self.device == "cuda":
            torch.cuda.empty_cache()

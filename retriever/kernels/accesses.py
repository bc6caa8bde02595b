"""What a walk through a kernel records: loops, accesses of one warp, arrays, conditions, barriers."""

from __future__ import annotations

from dataclasses import dataclass, field

from retriever.kernels.cuda_syntax import Node
from retriever.kernels.lanes import Pointer, Value, spread


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop of the source."""

    line: int
    restarts: bool
    """It has an initialiser: a loop without one goes on where another stopped."""
    text: str
    """Its header."""
    data_bound: bool
    """Its trip count differs from lane to lane by data."""
    body: Node
    fixed: bool
    """Its bound is known when compiling."""


@dataclass(frozen=True, slots=True)
class Access:
    """One access of the warp to memory."""

    kind: str
    """load, store, atomic, or fragment: a tensor-core operand loaded by wmma."""
    pointer: Pointer
    lanes: tuple[bool, ...]
    """The lanes that take part."""
    guarded_by_data: bool
    line: int
    loops: tuple[Loop, ...]
    text: str

    @property
    def offsets(self) -> list[int] | None:
        """Byte offsets of the active lanes; None where they depend on data."""
        if self.pointer.offset is None:
            return None
        return [at for at, active in zip(spread(self.pointer.offset), self.lanes) if active]


@dataclass(frozen=True, slots=True)
class Array:
    """One array declared in a kernel."""

    name: str
    space: str
    type: str
    dims: tuple[int, ...]
    dim_texts: tuple[str, ...]
    line: int
    element_bytes: int


@dataclass(slots=True)
class Trace:
    """What one walk through a kernel saw, in the order it saw it."""

    accesses: list[Access] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    conditions: list[tuple[Node, Value, tuple[Loop, ...]]] = field(default_factory=list)
    barriers: list[tuple[int, tuple[Loop, ...]]] = field(default_factory=list)
    symbols: dict[str, int] = field(default_factory=dict)
    """Sample values of what the source leaves open."""
    launch_bounds: tuple[int, ...] = ()
    """Arguments of `__launch_bounds__`, as far as they are numbers."""
    chases: list[tuple[int, str, str]] = field(default_factory=list)
    """Loads whose address is what the last turn of the loop loaded."""

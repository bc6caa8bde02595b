"""What a probe is: a piece of PTX with its inputs and a plain model of what it ought to do, or a kernel whose cycles are counted.

Probe("isa/integer/mad", "mad.lo.u32", "mad.lo.u32 %0, %1, %2, %3;", "u32", "u32 u32 u32", lambda a, b, c: a * b + c)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

WARP = 32


@dataclass(frozen=True, slots=True)
class Approximate:
    """What an approximate instruction is compared with, and how far off it may be."""

    truth: Callable[[np.ndarray], np.ndarray]
    """float64 inputs to float64 results, of the first operand."""
    limit: float
    """The largest accepted error, in `unit`; from the PTX ISA's own statement where it makes one."""
    unit: str = "ulp"
    """`ulp` of the exact result, `relative` or `absolute`."""
    low: float = 0.0
    high: float = 1.0
    log_spaced: bool = False
    count: int = 20_000


@dataclass(frozen=True, slots=True)
class Probe:
    """A register instruction, evaluated once by each thread on its own inputs."""

    isa: str
    """Id of the page it belongs to."""
    name: str
    """The instruction as one writes it; unique."""
    asm: str
    """Inline PTX: outputs are %0 on, inputs follow them; braces give local registers a scope."""
    outs: str
    ins: str
    """Operand types, apart by blanks."""
    model: Callable[..., Any] | None = None
    """Unsigned bit patterns in; one pattern or a tuple out. With scope `warp`: the 32 lanes' operands in, 32 results out."""
    keep: Callable[..., bool] | None = None
    """Which cases are defined; all by default."""
    cases: Callable[[], np.ndarray] | None = None
    """`(cases, operands) uint64`; the types' edge values by default."""
    approximate: Approximate | None = None
    scope: str = "thread"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A whole kernel with its own launch; `source` is the body of `(inputs..., output)` with every pointer a `u32*`."""

    isa: str
    name: str
    source: str
    inputs: Callable[[], Sequence[np.ndarray]]
    out: tuple[int, str]
    """Elements and numpy dtype of the output."""
    model: Callable[..., np.ndarray]
    block: int = 32
    grid: int = 1
    cluster: int = 0
    smem_bytes: int = 0
    tensor_maps: tuple[tuple[int, int, int, str], ...] = ()
    """(input, box rows, box columns, swizzle): descriptors passed ahead of the pointers as `map0`, ..."""
    cases: int = 0
    """What one run checks, where it is not the number of output elements."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """A kernel `(const u64* in, u64* out, u64* clocks)` that leaves each warp's start and stop in `clocks`."""

    isa: str
    name: str
    source: str
    sass: str
    """Regular expression of the SASS instruction that must stand between the clock reads."""
    sass_count: int
    """How often at least; ptxas may add others, but it must not fold these."""
    instances: float
    """Instances that the time is divided by (latency), or thread-level operations that are divided by the time (rate)."""
    unit: str
    """`cycles` or `per_clock_per_sm`."""
    method: str
    of: str = "instruction"
    """What is counted."""
    seeds: tuple[int, ...] = (3, 5, 7)
    """Words of the input buffer."""
    inputs: Callable[[], np.ndarray] | None = None
    """The input buffer of 64-bit words where it is not `seeds`; the runner adds the buffer's address to each."""
    block: int = 32
    grid: int = 1
    cluster: int = 0
    smem_bytes: int = 0
    sass_most: int = 0
    """How often at most; 0: twice as often as at least, a chain that grew otherwise is not the instruction."""


AnyProbe = Probe | Kernel | Timing


def symbol(each: AnyProbe) -> str:
    """The kernel's name in its translation unit."""
    kind = {"Probe": "probe", "Kernel": "kernel", "Timing": "timing"}[type(each).__name__]
    return f"{kind}_{re.sub('[^A-Za-z0-9]+', '_', each.name)}"

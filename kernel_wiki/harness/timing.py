"""Time of one call on the GPU, as the referee measures baselines and the runner measures the candidate. CUDA only.

Every function of torch that a time depends on is taken when this module is loaded, before any candidate: one that replaces
`torch.cuda.Event` later changes nothing here.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

FLUSH_BYTES = 256 * 1024 * 1024
"""Written before each timed call: several times the largest L2 (50 MB on Hopper, 126 MB on Blackwell)."""
HOLD_CYCLES = 600_000
"""The stream is held this long (about 0.3 ms) so that the call is queued before the GPU is free: no host time between the events."""
CONFIDENCE = 0.99
"""Of the interval of a median ratio."""
LEVEL = 0.025
"""Ratios within this of 1 are called level even where the interval excludes 1: on an H200 an implementation timed as the candidate against
itself as a baseline came to 0.980 to 0.995 (tests/bench/judge_bias.py)."""
NOISY_SPREAD = 0.05
"""Interquartile range over median above which a time is called noisy; 63 of 64 timings of the zoo stay below 0.04 on
an H200."""

_EventBase = torch._C._CudaEventBase  # its methods belong to an extension type, which Python code cannot replace
_sleep, _synchronize, _clock = torch.cuda._sleep, torch.cuda.synchronize, time.perf_counter
_current_stream = torch.cuda.current_stream


class Clock:
    """Times calls on the current stream, between events, with the L2 emptied before each if asked."""

    def __init__(self) -> None:
        self._written, self._read = (torch.zeros(FLUSH_BYTES // 4, dtype=torch.float32, device="cuda") for _ in range(2))

    def flush(self) -> None:
        """Empty the L2: write one buffer, then read another, so that no dirty line is left to be written back during the timed call."""
        self._written.zero_()
        self._read.amax()

    def elapsed_us(self, call: Callable[[], Any], before: Callable[[], Any] | None = None) -> tuple[float, Any]:
        """Device time of one call and what it returned; `before` runs on the stream ahead of the first event."""
        start, end = (_EventBase(enable_timing=True, blocking=False, interprocess=False) for _ in range(2))
        stream = _current_stream()
        _sleep(HOLD_CYCLES)
        if before is not None:
            before()
        start.record(stream)
        answer = call()
        end.record(stream)
        end.synchronize()
        return start.elapsed_time(end) * 1e3, answer


def wall_us(call: Callable[[], Any], count: int, wait: bool) -> float:
    """Host time of one of `count` calls; with `wait` until the device has finished them."""
    _synchronize()
    started = _clock()
    for _ in range(count):
        call()
    if wait:
        _synchronize()
    elapsed = _clock() - started
    _synchronize()
    return elapsed / count * 1e6


def summary(values: list[float]) -> dict[str, Any]:
    """`{time_us, spread, noise}`: median, (p75 - p25) / median, and whether that is "quiet" or "noisy"."""
    low, middle, high = statistics.quantiles(values, n=4)
    spread = (high - low) / middle
    return {"time_us": round(middle, 2), "spread": round(spread, 4), "noise": "noisy" if spread > NOISY_SPREAD else "quiet"}


def compared(own: list[float], other: list[float]) -> dict[str, Any]:
    """`{speedup, low, high, verdict}` of `own` against `other`, measured in the same rounds.

    The median of other / own over the rounds with its distribution-free confidence interval (binomial order statistics; Hoefler and
    Belli, "Scientific Benchmarking of Parallel Computing Systems", SC 2015, rule 8). `faster` or `slower` when the interval excludes 1
    by more than LEVEL, else `level`.
    """
    ratios = sorted(theirs / mine for mine, theirs in zip(own, other, strict=True))
    below = _order_statistic(len(ratios))
    low, high = ratios[below], ratios[len(ratios) - 1 - below]
    verdict = "faster" if low > 1 + LEVEL else "slower" if high < 1 - LEVEL else "level"
    return {"speedup": round(statistics.median(ratios), 3), "low": round(low, 3), "high": round(high, 3), "verdict": verdict}


def _order_statistic(count: int) -> int:
    """Index k such that the k-th smallest and k-th largest of `count` values enclose the median with CONFIDENCE."""
    tail, index = 0.0, 0
    for index in range(count // 2):
        tail += math.comb(count, index) / 2**count
        if 2 * tail > 1 - CONFIDENCE:
            break
    return max(0, index - 1)

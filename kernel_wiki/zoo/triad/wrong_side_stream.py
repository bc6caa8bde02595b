"""Wrong on purpose, a cheat: the kernel runs on a stream that the caller's never waits for. Right only after a full synchronisation."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

REJECTED_AS = ("correctness", "race")
BLOCK = 1024
HEAD_START_CYCLES = 200_000_000
"""About a tenth of a second: the caller reads before the work begins."""

_streams: list[torch.cuda.Stream] = []


@triton.jit
def triad_plain(a_ptr, b_ptr, y_ptr, s, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + offsets, mask=offsets < n).to(tl.float32)
    b = tl.load(b_ptr + offsets, mask=offsets < n).to(tl.float32)
    tl.store(y_ptr + offsets, (a + s * b).to(y_ptr.dtype.element_ty), mask=offsets < n)


def run(a: torch.Tensor, b: torch.Tensor, s: float) -> torch.Tensor:
    """Returns at once; an event on the caller's stream times nothing."""
    if not _streams:
        _streams.append(torch.cuda.Stream())
    y = torch.empty_like(a)
    _streams[0].wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(_streams[0]):
        torch.cuda._sleep(HEAD_START_CYCLES)
        triad_plain[(triton.cdiv(a.numel(), BLOCK),)](a, b, y, s, a.numel(), BLOCK=BLOCK)
    return y

"""Sleeping, and moving registers between warpgroups."""

from __future__ import annotations

import numpy as np

from .probe import Kernel, Timing
from .warp import words

C = "isa/control/"

SET_REGISTERS = """
    // Two warpgroups give registers up, one takes them; 24 + 24 + 240 of 3 * 168. Values survive.
    const u32 value = in0[threadIdx.x];
    if (threadIdx.x < 256) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;" ::: "memory");
    else asm volatile("setmaxnreg.inc.sync.aligned.u32 240;" ::: "memory");
    out[threadIdx.x] = value * 2 + 1;
"""

SLEEP = """
    u64 before, after;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before) :: "memory");
    asm volatile("nanosleep.u32 100000;" ::: "memory");
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after) :: "memory");
    // Between nothing and twice the wish, says the ISA; some slack above for the clock's own step and the wake-up.
    out[0] = after - before < 300000;
"""


def sleep_cost(duration: int) -> Timing:
    source = f"""
    u64 start = 0, stop = 0;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {{
        start = read_clock();
#pragma unroll
        for (int i = 0; i < 16; ++i) asm volatile("nanosleep.u32 {duration};" ::: "memory");
        stop = read_clock();
    }}
    out[0] = start;
    keep_clocks(clocks, start, stop);
"""
    return Timing(
        C + "nanosleep",
        f"nanosleep.u32 {duration} latency",
        source,
        "NANOSLEEP",
        16,
        16,
        "cycles",
        f"16 sleeps of {duration} ns in a row, one thread",
        block=1,
    )


PROBES = (
    Kernel(
        C + "setmaxnreg",
        "setmaxnreg.dec and inc",
        SET_REGISTERS,
        lambda: [words(384, "registers")],
        (384, "uint32"),
        lambda a: a * np.uint32(2) + np.uint32(1),
        block=384,
    ),
    Kernel(C + "nanosleep", "nanosleep.u32 ends in time", SLEEP, list, (1, "uint32"), lambda: np.ones(1, dtype=np.uint32), block=1),
    sleep_cost(0),
    sleep_cost(20),
    sleep_cost(1000),
)

"""Barriers of a block: counted, named, reducing, and the mbarrier's phases."""

from __future__ import annotations

import numpy as np

from .probe import Kernel, Timing
from .warp import words

B = "isa/barrier/"

SYNC = """
    __shared__ u32 line[256];
    for (u32 round = 0; round < 32; ++round) {
        line[threadIdx.x] = in0[threadIdx.x] + round;
        asm volatile("bar.sync 0;" ::: "memory");
        const u32 other = line[(threadIdx.x + 32 * (round % 8) + 1) % 256];
        out[threadIdx.x] = round == 0 ? other : out[threadIdx.x] + other;
        asm volatile("bar.sync 0;" ::: "memory");
    }
"""


def _sync(values: np.ndarray) -> np.ndarray:
    rounds = [np.roll(values, -(32 * (r % 8) + 1)) + np.uint32(r) for r in range(32)]
    return np.sum(np.stack(rounds), axis=0, dtype=np.uint32)


NAMED = """
    // Warps 0 and 1 fill, warps 2 and 3 read: barrier 1 says full (the writers only arrive), barrier 2 says empty.
    __shared__ u32 line[64];
    const u32 slot = threadIdx.x % 64;
    u32 sum = 0;
    for (u32 round = 0; round < 16; ++round)
        if (threadIdx.x < 64) {
            line[slot] = in0[slot] * (round + 1);
            asm volatile("barrier.cta.arrive 1, 128;" ::: "memory");
            asm volatile("barrier.cta.sync 2, 128;" ::: "memory");
        } else {
            asm volatile("barrier.cta.sync 1, 128;" ::: "memory");
            sum += line[63 - slot];
            asm volatile("barrier.cta.arrive 2, 128;" ::: "memory");
        }
    if (threadIdx.x >= 64) out[slot] = sum;
"""

REDUCE = """
    u32 count, all, any;
    const u32 mine = in0[threadIdx.x];
    asm volatile("{.reg .pred p, q; setp.ne.u32 p, %3, 0; barrier.cta.red.popc.u32 %0, 0, p; "
                 "barrier.cta.red.and.pred q, 0, p; selp.u32 %1, 1, 0, q; barrier.cta.red.or.pred q, 0, p; selp.u32 %2, 1, 0, q;}"
                 : "=r"(count), "=r"(all), "=r"(any) : "r"(mine) : "memory");
    out[threadIdx.x] = count << 2 | all << 1 | any;
"""


def _reduce(values: np.ndarray) -> np.ndarray:
    some = values != 0
    return np.full(values.size, int(some.sum()) << 2 | int(some.all()) << 1 | int(some.any()), dtype=np.uint32)


PHASES = """
    // One barrier of 2 arrivals through four phases, looked at by one thread: is the phase of each parity complete, and the counts.
    __shared__ __align__(8) u64 cell;
    const u32 barrier = shared_address(&cell);
    if (threadIdx.x) return;
    initialise_barrier(barrier, 2);
    u32 step = 0;
    auto look = [&]() {
        u32 even, odd;
        asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%2], 0; selp.u32 %0, 1, 0, p; "
                     "mbarrier.test_wait.parity.shared::cta.b64 p, [%2], 1; selp.u32 %1, 1, 0, p;}"
                     : "=&r"(even), "=&r"(odd) : "r"(barrier) : "memory");
        out[step++] = odd << 1 | even;
    };
    u64 state;
    u32 pending;
    look();  // odd: the phase before the first
    asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 1;" : "=l"(state) : "r"(barrier) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    out[10] = pending;  // 2 were pending before it
    look();  // still the first phase
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
    look();  // phase 0 complete
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 2;" :: "r"(barrier) : "memory");
    look();  // phase 1 complete
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 64;" :: "r"(barrier) : "memory");
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
    look();  // both arrived, 64 bytes miss
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 48;" :: "r"(barrier) : "memory");
    look();
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 16;" :: "r"(barrier) : "memory");
    look();  // phase 2 complete
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
    look();
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
    look();  // phase 3 complete, 1 expected from now on
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
    look();  // so one arrival completes phase 4
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(barrier) : "memory");
"""
ODD, EVEN = 2, 1
PHASE_ANSWERS = np.array([ODD, ODD, EVEN, ODD, ODD, ODD, EVEN, EVEN, ODD, EVEN, 2], dtype=np.uint32)

MBARRIER_PAGES = {
    "mbarrier.init": "mbarrier.init",
    "mbarrier.arrive": "mbarrier.arrive pending counts",
    "mbarrier.test_wait": "mbarrier.test_wait.parity",
    "mbarrier.arrive.expect_tx": "mbarrier.arrive.expect_tx",
    "mbarrier.complete_tx": "mbarrier.complete_tx",
    "mbarrier.arrive_drop": "mbarrier.arrive_drop",
    "mbarrier.pending_count": "mbarrier.pending_count",
}

HANDSHAKE = """
    // 256 threads, 24 phases: a value written before arriving is there for whoever saw the phase complete.
    __shared__ __align__(8) u64 cell;
    __shared__ u32 line[2][256];
    const u32 barrier = shared_address(&cell);
    if (threadIdx.x == 0) initialise_barrier(barrier, 256);
    __syncthreads();
    u32 sum = 0, fine = 1;
    for (u32 phase = 0; phase < 24; ++phase) {
        line[phase & 1][threadIdx.x] = in0[threadIdx.x] + phase;
        asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
        fine &= wait_for_phase(barrier, phase & 1);
        sum += line[phase & 1][(threadIdx.x + 37) % 256];
    }
    out[threadIdx.x] = fine ? sum : 0;
"""


def _handshake(values: np.ndarray) -> np.ndarray:
    return np.roll(values, -37) * np.uint32(24) + np.uint32(24 * 23 // 2)


def barrier_cost(name: str, threads: int) -> Timing:
    source = """
    u64 start = 0, stop = 0;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
        __syncthreads();
        start = read_clock();
#pragma unroll
        for (int i = 0; i < 64; ++i) asm volatile("bar.sync 0;" ::: "memory");
        stop = read_clock();
    }
    out[threadIdx.x] = start;
    keep_clocks(clocks, start, stop);
"""
    return Timing(B + "bar.sync", name, source, r"BAR\.SYNC", 64, 64, "cycles", f"64 barriers in a row, {threads} threads", block=threads)


TRY_WAIT = """
    // The phase is complete already: what an unblocked wait costs.
    __shared__ __align__(8) u64 cell;
    const u32 barrier = shared_address(&cell);
    initialise_barrier(barrier, 1);
    u32 done = (u32)in[3], sum = 0;
    u64 start = 0, stop = 0;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
        start = read_clock();
#pragma unroll
        for (int i = 0; i < 64; ++i) {
            asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 0, 1, p;}"
                         : "=r"(done) : "r"(barrier), "r"(1 ^ done) : "memory");
            sum += done;
        }
        stop = read_clock();
    }
    out[0] = sum;
    keep_clocks(clocks, start, stop);
"""

ARRIVE_WAIT = """
    // One thread is the whole barrier: arrive, then wait until the phase it completed is seen.
    __shared__ __align__(8) u64 cell;
    const u32 barrier = shared_address(&cell);
    initialise_barrier(barrier, 1);
    u64 start = 0, stop = 0;
    u32 sum = 0;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
        start = read_clock();
#pragma unroll
        for (u32 i = 0; i < 64; ++i) {
            u32 done;
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
            asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                         : "=r"(done) : "r"(barrier), "r"(i & 1) : "memory");
            sum += done;
        }
        stop = read_clock();
    }
    out[0] = sum;
    keep_clocks(clocks, start, stop);
"""


def fence_cost(isa: str, name: str, fence: str, sass: str) -> Timing:
    source = f"""
    u64 start = 0, stop = 0;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {{
        start = read_clock();
#pragma unroll
        for (int i = 0; i < 32; ++i) {{
            asm volatile("st.global.u32 [%0], %1;" :: "l"(out + 1), "r"(i) : "memory");
            asm volatile("{fence};" ::: "memory");
        }}
        stop = read_clock();
    }}
    out[0] = start;
    keep_clocks(clocks, start, stop);
"""
    return Timing(isa, name, source, sass, 32, 32, "cycles", "32 times a global store and the fence, one thread", block=1, sass_most=200)


PROBES = (
    Kernel(B + "bar.sync", "bar.sync", SYNC, lambda: [words(256, "sync")], (256, "uint32"), _sync, block=256),
    Kernel(
        B + "barrier.arrive",
        "barrier.cta.arrive named",
        NAMED,
        lambda: [words(64, "named")],
        (64, "uint32"),
        lambda a: a[::-1] * np.uint32(136),
        block=128,
    ),
    Kernel(
        B + "barrier.sync",
        "barrier.cta.sync named",
        NAMED,
        lambda: [words(64, "named")],
        (64, "uint32"),
        lambda a: a[::-1] * np.uint32(136),
        block=128,
    ),
    *(
        Kernel(B + "barrier.red", f"barrier.cta.red {name}", REDUCE, lambda values=values: [values()], (128, "uint32"), _reduce, block=128)
        for name, values in (
            ("some", lambda: words(128, "red") & np.uint32(1)),
            ("all", lambda: np.ones(128, dtype=np.uint32)),
            ("none", lambda: np.zeros(128, dtype=np.uint32)),
        )
    ),
    *(Kernel(B + page, name, PHASES, list, (11, "uint32"), lambda: PHASE_ANSWERS) for page, name in MBARRIER_PAGES.items()),
    Kernel("isa/memory-model/mbarrier-phases", "mbarrier phases and parities", PHASES, list, (11, "uint32"), lambda: PHASE_ANSWERS),
    Kernel(
        B + "mbarrier.try_wait",
        "mbarrier.try_wait.parity hand-over",
        HANDSHAKE,
        lambda: [words(256, "hand")],
        (256, "uint32"),
        _handshake,
        block=256,
    ),
    barrier_cost("bar.sync latency, 128 threads", 128),
    barrier_cost("bar.sync latency, 1024 threads", 1024),
    Timing(
        B + "mbarrier.try_wait",
        "mbarrier.try_wait latency, phase complete",
        TRY_WAIT,
        r"SYNCS",
        64,
        64,
        "cycles",
        "64 waits, each parity from the last answer; one thread",
        seeds=(0, 0, 0, 0),
        block=1,
    ),
    Timing(
        B + "mbarrier.arrive",
        "mbarrier.arrive and try_wait latency",
        ARRIVE_WAIT,
        r"SYNCS",
        128,
        64,
        "cycles",
        "64 times arrive, then one try_wait for the phase that it completed; one thread",
        block=1,
    ),
    fence_cost(B + "fence.acq_rel", "fence.acq_rel.gpu latency", "fence.acq_rel.gpu", r"MEMBAR"),
    fence_cost(B + "membar", "membar.cta latency", "membar.cta", r"MEMBAR|ST"),
    fence_cost(B + "fence.proxy.async", "fence.proxy.async latency", "fence.proxy.async", r"FENCE"),
)

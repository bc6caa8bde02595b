"""Clusters: ranks, mapped addresses, remote shared memory, remote barriers."""

from __future__ import annotations

import numpy as np

from .probe import Kernel, Timing
from .warp import words

C = "isa/cluster/"

RING = """
    // Each of four blocks reads the words of the next block's shared memory, and names the owner of the address it read.
    __shared__ u32 mine[32];
    u32 rank, size, owner, remote, value;
    asm volatile("mov.u32 %0, %%cluster_ctarank; mov.u32 %1, %%cluster_nctarank;" : "=r"(rank), "=r"(size));
    mine[lane_id()] = in0[rank * 32 + lane_id()];
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    const u32 next = (rank + 1) % size;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared_address(mine + lane_id())), "r"(next));
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(owner) : "r"(remote));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(remote) : "memory");
    out[rank * 32 + lane_id()] = value + owner * 7 + size * 100;
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");  // nobody leaves while it is read
"""


def _ring(values: np.ndarray) -> np.ndarray:
    owner = (np.repeat(np.arange(4), 32) + 1) % 4
    return np.roll(values, -32) + (owner * 7 + 400).astype(np.uint32)


REMOTE = """
    // Remote store, remote atomic and remote arrival: block 0 collects from all four.
    __shared__ u32 slots[4], total;
    __shared__ __align__(8) u64 cell;
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    const u32 barrier = shared_address(&cell);
    if (threadIdx.x == 0) total = 0, initialise_barrier(barrier, 4);
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        u32 slot, sum, remote;
        asm volatile("mapa.shared::cluster.u32 %0, %3, 0; mapa.shared::cluster.u32 %1, %4, 0; mapa.shared::cluster.u32 %2, %5, 0;"
                     : "=&r"(slot), "=&r"(sum), "=&r"(remote) : "r"(shared_address(slots + rank)), "r"(shared_address(&total)),
                       "r"(barrier));
        asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(slot), "r"(in0[rank]) : "memory");
        asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" :: "r"(sum), "r"(in0[rank]) : "memory");
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(remote) : "memory");
        if (rank == 0) {
            u32 done = 0;
            for (const u64 begun = read_clock(); !done && read_clock() - begun < 20000000;)
                asm volatile("{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                             : "=r"(done) : "r"(barrier) : "memory");
            for (int i = 0; i < 4; ++i) out[i] = ((volatile u32*)slots)[i];
            out[4] = *(volatile u32*)&total, out[5] = done;
        }
    }
    __syncwarp();
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
"""


def _remote(values: np.ndarray) -> np.ndarray:
    return np.concatenate([values, [values.sum(dtype=np.uint32), np.uint32(1)]]).astype(np.uint32)


ST_ASYNC = """
    // Each block sends 16 bytes to the next; the receiver waits on its own barrier for the bytes, no fence and no cluster barrier between.
    __shared__ __align__(16) u32 box[8];
    __shared__ __align__(8) u64 cell;
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    const u32 barrier = shared_address(&cell);
    if (threadIdx.x == 0) {
        box[4] = 1000;
        initialise_barrier(barrier, 1);
        expect_bytes(barrier, 16 + 4);
    }
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    bool fine = true;
    if (threadIdx.x == 0) {
        const u32 next = (rank + 1) % 4;
        const u32* v = in0 + rank * 4;
        u32 remote_box, remote_barrier;
        asm volatile("mapa.shared::cluster.u32 %0, %2, %4; mapa.shared::cluster.u32 %1, %3, %4;"
                     : "=&r"(remote_box), "=&r"(remote_barrier) : "r"(shared_address(box)), "r"(barrier), "r"(next));
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%2, %3, %4, %5}, [%1];"
                     :: "r"(remote_box), "r"(remote_barrier), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
        asm volatile("red.async.relaxed.cluster.global.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %2, [%1];"
                     :: "r"(remote_box + 16), "r"(remote_barrier), "r"(rank) : "memory");
        fine = wait_for_phase(barrier, 0);
        for (int i = 0; i < 5; ++i) out[rank * 5 + i] = fine ? ((volatile u32*)box)[i] : 0;
    }
    __syncwarp();
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
""".replace(".global.shared::cluster.mbarrier", ".shared::cluster.mbarrier")


def _st_async(values: np.ndarray) -> np.ndarray:
    sent = np.roll(values.reshape(4, 4), 1, axis=0)
    sums = (1000 + np.roll(np.arange(4), 1)).astype(np.uint32)
    return np.concatenate([sent, sums[:, None]], axis=1).astype(np.uint32).ravel()


MULTICAST = """
    // One bulk copy of block 0 lands at the same offset in every block of its mask, and counts on the barrier of each.
    __shared__ __align__(128) u32 buffer[64];
    __shared__ __align__(8) u64 cell;
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    const u32 barrier = shared_address(&cell);
    buffer[threadIdx.x] = buffer[threadIdx.x + 32] = 5;
    fence_async_proxy();
    if (threadIdx.x == 0) {
        initialise_barrier(barrier, 1);
        if (rank != 2) expect_bytes(barrier, 256);
    }
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (rank == 0 && threadIdx.x == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, [%2], %3;"
                     :: "r"(shared_address(buffer)), "l"(in0), "r"(barrier), "h"((u16)0xB) : "memory");
    const bool fine = rank == 2 || wait_for_phase(barrier, 0);
    __syncwarp();
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    for (u32 i = threadIdx.x; i < 64; i += 32) out[rank * 64 + i] = fine ? buffer[i] : 0;
"""


def _multicast(values: np.ndarray) -> np.ndarray:
    rows = [values, values, np.full(64, 5, dtype=np.uint32), values]
    return np.concatenate(rows)


DEPENDENT = """
    // Without the launch attribute both return at once: nothing to wait for, nothing to launch.
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
    out[lane_id()] = in0[lane_id()];
"""

CHASE = """
    // Block 0 walks a ring that lies in the shared memory of block FROM.
    __shared__ u32 ring[1024];
    u32 rank, at;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(shared_address(ring)), "r"(rank));
    const u32 base = at;
    for (u32 i = 0; i < 1024; ++i) ring[i] = base + (i * 33 + 33) % 1024 * 4;
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm volatile("mapa.shared::cluster.u32 %0, %1, FROM;" : "=r"(at) : "r"(shared_address(ring)));
    u64 start = 0, stop = 0;
    if (rank == 0) {
        for (int i = 0; i < 64; ++i) asm volatile("ld.shared::cluster.u32 %0, [%0];" : "+r"(at)::"memory");
        start = read_clock();
#pragma unroll
        for (int i = 0; i < 256; ++i) asm volatile("ld.shared::cluster.u32 %0, [%0];" : "+r"(at)::"memory");
        stop = read_clock();
        out[0] = at;
        keep_clocks(clocks, start, stop);
    }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
"""


def chase(name: str, owner: int) -> Timing:
    return Timing(
        "isa/memory/ld",
        name,
        CHASE.replace("FROM", str(owner)),
        r"\bLD(S|\.)?",
        256,
        256,
        "cycles",
        f"256 dependent loads of one thread, ring of 4 KiB in block {owner} of a cluster of 2; each load with the moves that ptxas adds",
        block=1,
        grid=2,
        cluster=2,
        sass_most=300,
    )


BARRIER = """
    u64 start = 0, stop = 0;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
        start = read_clock();
#pragma unroll
        for (int i = 0; i < 32; ++i) asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
        stop = read_clock();
    }
    out[0] = start;
    if (blockIdx.x == 0) keep_clocks(clocks, start, stop);
"""

CLUSTER = {"grid": 4, "cluster": 4}

PROBES = (
    *(
        Kernel(C + page, name, RING, lambda: [words(128, "ring")], (128, "uint32"), _ring, **CLUSTER)
        for page, name in (
            ("mapa", "mapa.shared::cluster.u32"),
            ("getctarank", "getctarank.shared::cluster.u32"),
            ("barrier.cluster", "barrier.cluster arrive and wait"),
        )
    ),
    Kernel(
        "isa/special-registers/cluster",
        "%cluster_ctarank %cluster_nctarank",
        RING,
        lambda: [words(128, "ring")],
        (128, "uint32"),
        _ring,
        **CLUSTER,
    ),
    Kernel("isa/memory/ld", "ld.shared::cluster.u32 remote", RING, lambda: [words(128, "ring")], (128, "uint32"), _ring, **CLUSTER),
    Kernel(
        "isa/barrier/mbarrier.arrive", "mbarrier.arrive remote", REMOTE, lambda: [words(4, "remote")], (6, "uint32"), _remote, **CLUSTER
    ),
    Kernel("isa/memory/st", "st.shared::cluster.u32 remote", REMOTE, lambda: [words(4, "remote")], (6, "uint32"), _remote, **CLUSTER),
    Kernel(
        "isa/reduction/red", "red.shared::cluster.add.u32 remote", REMOTE, lambda: [words(4, "remote")], (6, "uint32"), _remote, **CLUSTER
    ),
    Kernel(C + "st.async", "st.async.v4.b32", ST_ASYNC, lambda: [words(16, "st.async")], (20, "uint32"), _st_async, **CLUSTER),
    Kernel("isa/reduction/red.async", "red.async.add.u32", ST_ASYNC, lambda: [words(16, "st.async")], (20, "uint32"), _st_async, **CLUSTER),
    Kernel(
        "isa/async-copy/cp.async.bulk",
        "cp.async.bulk multicast to three of four",
        MULTICAST,
        lambda: [words(64, "multicast")],
        (256, "uint32"),
        _multicast,
        **CLUSTER,
    ),
    Kernel(
        C + "griddepcontrol",
        "griddepcontrol without the attribute",
        DEPENDENT,
        lambda: [words(32, "pdl")],
        (32, "uint32"),
        lambda a: a,
        note="launched without programmatic serialization: only that both return",
    ),
    chase("ld.shared::cluster latency, own block", 0),
    chase("ld.shared::cluster latency, other block", 1),
    Timing(
        C + "barrier.cluster",
        "barrier.cluster relaxed latency, 4 blocks of a warp",
        BARRIER.replace("arrive.aligned", "arrive.relaxed.aligned"),
        r"UCGABAR|CGABAR",
        32,
        32,
        "cycles",
        "32 times arrive.relaxed and wait, four blocks of 32 threads",
        grid=4,
        cluster=4,
        sass_most=200,
    ),
    Timing(
        C + "barrier.cluster",
        "barrier.cluster latency, 4 blocks of a warp",
        BARRIER,
        r"UCGABAR|CGABAR|BAR",
        32,
        32,
        "cycles",
        "32 times arrive and wait, four blocks of 32 threads",
        grid=4,
        cluster=4,
        sass_most=200,
    ),
)

"""Asynchronous copies: cp.async, bulk copies, and tensor copies whose swizzle is compared with its formula."""

from __future__ import annotations

import numpy as np

from .probe import Kernel, Timing
from .warp import words

A = "isa/async-copy/"
SWIZZLE_MASKS = {"none": 0x00, "32B": 0x10, "64B": 0x30, "128B": 0x70}
"""Address bits that the XOR changes, by the bits three places above them."""

CP_ASYNC = """
    // 32 threads copy 16 bytes each: 16, 8 and 4 bytes at a time, then 16 of which only the first 4 * (lane % 5) are read, the rest zero.
    __shared__ __align__(16) u32 to[4][128];
    const u32* from = in0 + lane_id() * 4;
    const u32 at = shared_address(to) + lane_id() * 16;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at), "l"(from) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8; cp.async.ca.shared.global [%0 + 8], [%1 + 8], 8;"
                 :: "r"(at + 512), "l"(from) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    for (int i = 0; i < 4; ++i)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at + 1024 + i * 4), "l"(from + i) : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(at + 1536), "l"(from), "r"(lane_id() % 5 * 4) : "memory");
    asm volatile("cp.async.commit_group; cp.async.wait_group 1;" ::: "memory");
    u32 early = 1;
    for (int i = 0; i < 4; ++i) early &= to[0][lane_id() * 4 + i] == from[i] && to[1][lane_id() * 4 + i] == from[i];
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
    for (int i = threadIdx.x; i < 512; i += 32) out[i] = to[i / 128][i % 128];
    out[512 + lane_id()] = early;
"""


def _cp_async(values: np.ndarray) -> np.ndarray:
    padded = values.reshape(32, 4).copy()
    for lane in range(32):
        padded[lane, lane % 5 :] = 0
    return np.concatenate([values, values, values, padded.ravel(), np.ones(32, dtype=np.uint32)])


CP_ASYNC_BARRIER = """
    // The barrier expects one arrival of each of 64 threads, made by the copies when they have landed.
    __shared__ __align__(16) u32 to[256];
    __shared__ __align__(8) u64 cell;
    const u32 barrier = shared_address(&cell);
    if (threadIdx.x == 0) initialise_barrier(barrier, 64);
    __syncthreads();
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :: "r"(shared_address(to) + threadIdx.x * 16), "l"(in0 + threadIdx.x * 4) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(barrier) : "memory");
    const bool fine = wait_for_phase(barrier, 0);
    for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = fine ? to[(threadIdx.x * 4 + i + 128) % 256] : 0;
"""

BULK = """
    // 4 KiB in by a bulk copy with an mbarrier, changed by the threads, out by a bulk copy in a group.
    __shared__ __align__(128) u32 buffer[1024];
    __shared__ __align__(8) u64 cell;
    const u32 barrier = shared_address(&cell), at = shared_address(buffer);
    if (threadIdx.x == 0) {
        initialise_barrier(barrier, 1);
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], 4096;" :: "l"(in0) : "memory");
        expect_bytes(barrier, 4096);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 4096, [%2];"
                     :: "r"(at), "l"(in0), "r"(barrier) : "memory");
    }
    __syncthreads();
    const bool fine = wait_for_phase(barrier, 0);
    for (u32 i = threadIdx.x; i < 1024; i += 128) buffer[i] = fine ? buffer[i] * 3 : 0;
    fence_async_proxy();  // each writer, before the copy engine reads
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 4096;" :: "l"(out), "r"(at) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;" ::: "memory");
    }
"""

BULK_REDUCE = """
    // out holds zeros, then gets the block's words added by the copy engine, four times.
    __shared__ __align__(128) u32 buffer[256];
    buffer[threadIdx.x] = in0[threadIdx.x];
    out[threadIdx.x] = 0;
    __threadfence();
    fence_async_proxy();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 4; ++i)
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 1024;"
                         :: "l"(out), "r"(shared_address(buffer)) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
"""

ROWS, COLUMNS, BOX_ROWS = 48, 64, 16
START_ROW, START_COLUMN = 40, 48
"""Half of the box lies outside the tensor below, and for the wider boxes some columns too."""

TENSOR_LOAD = """
    // One box of 32-bit elements at row 40, column 48 into shared memory, dumped as it lies there.
    __shared__ __align__(1024) u32 buffer[BOXWORDS];
    __shared__ __align__(8) u64 cell;
    const u32 barrier = shared_address(&cell), at = shared_address(buffer);
    if (threadIdx.x == 0) {
        initialise_barrier(barrier, 1);
        asm volatile("prefetch.tensormap [%0];" :: "l"(&map0) : "memory");
        expect_bytes(barrier, BOXWORDS * 4);
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                     :: "r"(at), "l"(&map0), "r"(48), "r"(40), "r"(barrier) : "memory");
    }
    __syncthreads();
    const bool fine = wait_for_phase(barrier, 0);
    for (u32 i = threadIdx.x; i < BOXWORDS; i += 32) out[i] = fine ? buffer[i] : 0xBADBAD;
"""

TENSOR_STORE = """
    // The other way: a box laid out with the swizzle by the threads, stored by the copy engine into the tensor at row 8, column 16.
    __shared__ __align__(1024) u32 buffer[BOXWORDS];
    for (u32 i = threadIdx.x; i < BOXWORDS; i += 32) {
        const u32 offset = i * 4;
        buffer[(offset ^ (offset >> 3 & MASK)) / 4] = 0x10000 + i;
    }
    fence_async_proxy();
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                     :: "l"(&map0), "r"(16), "r"(8), "r"(shared_address(buffer)) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    __threadfence();
    for (u32 i = threadIdx.x; i < 48 * 64; i += 32) out[i] = ((volatile u32*)in0)[i];
"""


def box_columns(swizzle: str) -> int:
    """As wide as the swizzle allows, in 32-bit elements."""
    return {"none": 16, "32B": 8, "64B": 16, "128B": 32}[swizzle]


def swizzled_load(swizzle: str):
    """The box with zeros outside, each 16-byte chunk where the formula of the address bits puts it."""

    def model(tensor: np.ndarray) -> np.ndarray:
        width = box_columns(swizzle)
        padded = np.zeros((ROWS + BOX_ROWS, COLUMNS + width), dtype=np.uint32)
        padded[:ROWS, :COLUMNS] = tensor.reshape(ROWS, COLUMNS)
        box = padded[START_ROW : START_ROW + BOX_ROWS, START_COLUMN : START_COLUMN + width].ravel()
        offset = np.arange(box.size) * 4
        laid = np.zeros_like(box)
        laid[(offset ^ (offset >> 3 & SWIZZLE_MASKS[swizzle])) // 4] = box
        return laid

    return model


def swizzled_store(swizzle: str):
    def model(tensor: np.ndarray) -> np.ndarray:
        width = box_columns(swizzle)
        result = tensor.reshape(ROWS, COLUMNS).copy()
        result[8 : 8 + BOX_ROWS, 16 : 16 + width] = np.uint32(0x10000) + np.arange(BOX_ROWS * width, dtype=np.uint32).reshape(
            BOX_ROWS, width
        )
        return result.ravel()

    return model


def tensor_probes(swizzle: str) -> tuple[Kernel, ...]:
    width = box_columns(swizzle)
    size = BOX_ROWS * width
    inputs = lambda: [words(ROWS * COLUMNS, "tensor").reshape(ROWS, COLUMNS)]  # noqa: E731
    maps = ((0, BOX_ROWS, width, swizzle),)
    load = TENSOR_LOAD.replace("BOXWORDS", str(size))
    store = TENSOR_STORE.replace("BOXWORDS", str(size)).replace("MASK", hex(SWIZZLE_MASKS[swizzle]))
    return (
        Kernel(
            A + "cp.async.bulk.tensor",
            f"cp.async.bulk.tensor.2d load, swizzle {swizzle}",
            load,
            inputs,
            (size, "uint32"),
            swizzled_load(swizzle),
            tensor_maps=maps,
        ),
        Kernel(
            "isa/descriptors/swizzle-modes",
            f"swizzle {swizzle} by its formula",
            load,
            inputs,
            (size, "uint32"),
            swizzled_load(swizzle),
            tensor_maps=maps,
        ),
        Kernel(
            A + "cp.async.bulk.tensor",
            f"cp.async.bulk.tensor.2d store, swizzle {swizzle}",
            store,
            inputs,
            (ROWS * COLUMNS, "uint32"),
            swizzled_store(swizzle),
            tensor_maps=maps,
        ),
    )


def copy_latency(isa: str, name: str, body: str, sass: str, method: str, block: int = 1, setup: str = "") -> Timing:
    """`body` once, 16 passes of which the last is kept: the source is in L2 by then."""
    source = f"""
    __shared__ __align__(128) u32 buffer[4096];
    __shared__ __align__(8) u64 cell;
    const u32 barrier = shared_address(&cell), at = shared_address(buffer);
    u64 start = 0, stop = 0;
    u32 parity = 0;
    {setup}
    __syncthreads();
#pragma unroll 1
    for (int pass = 0; pass < 16; ++pass) {{
        start = read_clock();
        {body}
        stop = read_clock();
        parity ^= 1;
    }}
    out[threadIdx.x] = buffer[threadIdx.x] + parity;
    keep_clocks(clocks, start, stop);
"""
    return Timing(
        isa,
        name,
        source,
        sass,
        1,
        1,
        "cycles",
        method,
        block=block,
        seeds=tuple(range(8)),
        inputs=lambda: np.zeros(4096, dtype=np.uint64),
        sass_most=8,
    )


def bulk_latency(size: int) -> Timing:
    body = f"""
        expect_bytes(barrier, {size});
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], {size}, [%2];"
                     :: "r"(at), "l"(in), "r"(barrier) : "memory");
        for (u32 done = 0; !done;)
            asm volatile("{{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}}"
                         : "=r"(done) : "r"(barrier), "r"(parity) : "memory");"""
    return copy_latency(
        A + "cp.async.bulk",
        f"cp.async.bulk latency, {size} bytes",
        body,
        "UBLKCP",
        f"one copy of {size} bytes from L2 to shared memory, from expect_tx to the end of the wait",
        setup="initialise_barrier(barrier, 1);",
    )


CP_ASYNC_ONE = """
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16; cp.async.commit_group; cp.async.wait_group 0;"
                     :: "r"(at + threadIdx.x * 16), "l"(in + threadIdx.x * 2) : "memory");"""

PROBES = (
    *(
        Kernel(A + page, name, CP_ASYNC, lambda: [words(128, "cp.async")], (544, "uint32"), _cp_async)
        for page, name in (
            ("cp.async", "cp.async 4, 8, 16 bytes, zero fill"),
            ("cp.async.wait_group", "cp.async.wait_group 1"),
            ("cp.async.commit_group", "cp.async.commit_group"),
            ("cp.async.wait_all", "cp.async.wait_all"),
        )
    ),
    Kernel(
        A + "cp.async.mbarrier.arrive",
        "cp.async.mbarrier.arrive.noinc",
        CP_ASYNC_BARRIER,
        lambda: [words(256, "noinc")],
        (256, "uint32"),
        lambda a: np.roll(a, -128),
        block=64,
    ),
    *(
        Kernel(page, name, BULK, lambda: [words(1024, "bulk")], (1024, "uint32"), lambda a: a * np.uint32(3), block=128)
        for page, name in (
            (A + "cp.async.bulk", "cp.async.bulk in and out"),
            (A + "cp.async.bulk.wait_group", "cp.async.bulk.wait_group"),
            (A + "cp.async.bulk.commit_group", "cp.async.bulk.commit_group"),
            (A + "cp.async.bulk.prefetch", "cp.async.bulk.prefetch.L2 leaves values alone"),
            ("isa/barrier/fence.proxy.async", "fence.proxy.async before a bulk store"),
        )
    ),
    Kernel(
        A + "cp.reduce.async.bulk",
        "cp.reduce.async.bulk.add.u32",
        BULK_REDUCE,
        lambda: [words(256, "reduce")],
        (256, "uint32"),
        lambda a: a * np.uint32(4),
        block=256,
    ),
    *(probe for swizzle in SWIZZLE_MASKS for probe in tensor_probes(swizzle)),
    *(bulk_latency(size) for size in (16, 1024, 16384)),
    copy_latency(
        A + "cp.async",
        "cp.async.cg latency, 16 bytes",
        CP_ASYNC_ONE,
        "LDGSTS",
        "one copy of 16 bytes from L2, issue to the end of wait_group 0",
    ),
    copy_latency(
        A + "cp.async",
        "cp.async.cg latency, 512 bytes by a warp",
        CP_ASYNC_ONE,
        "LDGSTS",
        "one copy of 16 bytes by each lane from L2, issue to the end of wait_group 0",
        block=32,
    ),
)

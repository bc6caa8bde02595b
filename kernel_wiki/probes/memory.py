"""Loads, stores, address spaces, cache hints, and what a load costs by where it hits."""

from __future__ import annotations

import numpy as np

from .probe import Kernel, Timing
from .warp import words

M, K = "isa/memory/", "isa/cache-control/"
KIB, MIB = 1 << 10, 1 << 20


def load_probe(isa: str, name: str, width: int, note: str = "") -> Kernel:
    """Each of 64 threads moves `width` words with one load and plain stores."""
    outs = ", ".join(f'"=r"(v{i})' for i in range(width))
    registers = "%0" if width == 1 else "{" + ", ".join(f"%{i}" for i in range(width)) + "}"
    source = f"""
    u32 {", ".join(f"v{i}" for i in range(width))};
    const u32* mine = in0 + threadIdx.x * {width};
    asm volatile("{name} {registers}, [%{width}];" : {outs} : "l"(mine) : "memory");
    {" ".join(f"out[threadIdx.x * {width} + {i}] = v{i} + 1;" for i in range(width))}
"""
    return Kernel(
        isa, name, source, lambda: [words(64 * width, name)], (64 * width, "uint32"), lambda a: a + np.uint32(1), block=64, note=note
    )


def store_probe(isa: str, name: str, width: int) -> Kernel:
    """Each of 64 threads moves `width` words with plain loads and one store."""
    ins = ", ".join(f'"r"(in0[threadIdx.x * {width} + {i}] ^ 1)' for i in range(width))
    registers = "%1" if width == 1 else "{" + ", ".join(f"%{i + 1}" for i in range(width)) + "}"
    source = f"""
    asm volatile("{name} [%0], {registers};" :: "l"(out + threadIdx.x * {width}), {ins} : "memory");
"""
    return Kernel(isa, name, source, lambda: [words(64 * width, name)], (64 * width, "uint32"), lambda a: a ^ np.uint32(1), block=64)


NARROW = """
    u32 a, b, c, d;
    const u32* mine = in0 + threadIdx.x;
    asm volatile("ld.global.u8 %0, [%4]; ld.global.s8 %1, [%4]; ld.global.u16 %2, [%4 + 2]; ld.global.s16 %3, [%4 + 2];"
                 : "=&r"(a), "=&r"(b), "=&r"(c), "=&r"(d) : "l"(mine) : "memory");
    out[threadIdx.x * 4] = a, out[threadIdx.x * 4 + 1] = b, out[threadIdx.x * 4 + 2] = c, out[threadIdx.x * 4 + 3] = d;
"""


def _narrow(values: np.ndarray) -> np.ndarray:
    low, high = values.astype(np.uint8), (values >> np.uint32(16)).astype(np.uint16)
    columns = [low, low.view(np.int8).astype(np.int32), high, high.view(np.int16).astype(np.int32)]
    return np.stack([c.astype(np.int64).astype(np.uint32) for c in columns], axis=1).ravel()


STORE_BYTES = """
    out[threadIdx.x] = 0x11223344;
    asm volatile("st.global.u8 [%0 + 1], %1; st.global.u16 [%0 + 2], %1;" :: "l"(out + threadIdx.x), "r"(in0[threadIdx.x]) : "memory");
"""

SPACES = """
    __shared__ u32 here[4];
    u32 local[4] = {1, 2, 3, 4};
    u64 generic;
    here[threadIdx.x & 3] = 7;
    __syncthreads();
    const u64 addresses[3] = {(u64)in0, (u64)here, (u64)local};
    for (int i = 0; i < 3; ++i) {
        u32 g, s, l;
        asm volatile("{.reg .pred p; isspacep.global p, %3; selp.u32 %0, 1, 0, p; isspacep.shared p, %3; selp.u32 %1, 1, 0, p; "
                     "isspacep.local p, %3; selp.u32 %2, 1, 0, p;}" : "=r"(g), "=r"(s), "=r"(l) : "l"(addresses[i]) : "memory");
        out[threadIdx.x * 5 + i] = g | s << 1 | l << 2;
    }
    // From a shared address to a generic one and back: the generic one reads the same word.
    u64 back;
    const u64 narrow = shared_address(here);
    asm volatile("cvta.shared.u64 %0, %2; cvta.to.shared.u64 %1, %0;" : "=&l"(generic), "=l"(back) : "l"(narrow));
    out[threadIdx.x * 5 + 3] = back == narrow;
    out[threadIdx.x * 5 + 4] = *(u32*)generic;
    local[threadIdx.x & 3] = generic & 1;
"""

PACK = """
    u32 low, high, word;
    u64 wide;
    u16 a, b;
    const u32 value = in0[threadIdx.x];
    asm volatile("mov.b32 {%0, %1}, %2;" : "=h"(a), "=h"(b) : "r"(value));
    asm volatile("mov.b32 %0, {%1, %2};" : "=r"(word) : "h"(b), "h"(a));
    asm volatile("mov.b64 %0, {%1, %2};" : "=l"(wide) : "r"(value), "r"(word));
    asm volatile("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(wide));
    out[threadIdx.x * 4] = word, out[threadIdx.x * 4 + 1] = wide >> 32, out[threadIdx.x * 4 + 2] = low, out[threadIdx.x * 4 + 3] = high;
"""


def _pack(values: np.ndarray) -> np.ndarray:
    swapped = values << np.uint32(16) | values >> np.uint32(16)
    return np.stack([swapped, swapped, values, swapped], axis=1).ravel()


HINTS = """
    // None of these may change a value. discard is left to another buffer: it may.
    const u32* mine = in0 + threadIdx.x;
    u64 policy;
    u32 value;
    asm volatile("prefetch.global.L1 [%0]; prefetch.global.L2 [%0]; prefetch.global.L2::evict_last [%0];" :: "l"(mine) : "memory");
    asm volatile("prefetchu.L1 [%0];" :: "l"(mine) : "memory");
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(value) : "l"(mine), "l"(policy) : "memory");
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" :: "l"(in0) : "memory");
    out[threadIdx.x] = value;
"""

LITMUS = """
    // Block 0 writes data, then the flag; block 1 that sees the flag must see the data. Counted: flags seen, and stale data behind them.
    u32* data = in0, *flag = in0 + 64;
    u32 seen = 0, stale = 0;
    for (u32 round = 1; round <= 100000; ++round) {
        if (blockIdx.x == 0) {
            asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(data), "r"(round) : "memory");
            WRITER
            asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(flag), "r"(round) : "memory");
        } else {
            u32 f, d;
            asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(f) : "l"(flag) : "memory");
            READER
            asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(d) : "l"(data) : "memory");
            seen += f != 0, stale += d < f;
        }
    }
    if (blockIdx.x == 1) out[0] = stale, out[1] = seen > 0;
"""
FENCE = 'asm volatile("fence.acq_rel.gpu;" ::: "memory");'
LITMUS_NOTE = "message passing between two blocks, 100,000 reads: no stale value seen, which proves nothing about any other run"


def litmus(isa: str, name: str, source: str) -> Kernel:
    return Kernel(
        isa,
        name,
        source,
        lambda: [np.zeros(128, dtype=np.uint32)],
        (2, "uint32"),
        lambda a: np.array([0, 1], dtype=np.uint32),
        grid=2,
        block=1,
        cases=100_000,
        note=LITMUS_NOTE,
    )


def fenced(fence: str) -> str:
    text = f'asm volatile("{fence};" ::: "memory");'
    return LITMUS.replace("WRITER", text).replace("READER", text)


ACQUIRE = (
    LITMUS.replace("WRITER", "")
    .replace("READER", "")
    .replace('st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(flag)', 'st.release.gpu.global.u32 [%0], %1;" :: "l"(flag)')
    .replace('ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(f)', 'ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(f)')
)


def ring(size_bytes: int, stride_bytes: int) -> np.ndarray:
    """64-bit words: each element names the byte offset of the next, to which the runner adds the address, in a drawn order."""
    steps = size_bytes // stride_bytes
    order = np.random.default_rng(steps).permutation(steps)
    table = np.zeros(size_bytes // 8, dtype=np.uint64)
    table[order * (stride_bytes // 8)] = np.roll(order, -1).astype(np.uint64) * np.uint64(stride_bytes)
    # The walk begins at offset 0, which lies on the one cycle like every other element.
    return table


def chase(name: str, load: str, steps: int, warm: int, size_bytes: int, stride_bytes: int, note: str, isa: str = M + "ld") -> Timing:
    """Dependent loads along a ring of addresses: `warm` unmeasured steps, then `steps` measured ones; a launch goes on where one ended."""
    source = f"""
    u64 at = out[0] ? out[0] : (u64)in, start, stop;
#pragma unroll 1
    for (int i = 0; i < {warm}; ++i) asm volatile("{load} %0, [%0];" : "+l"(at) :: "memory");
    start = read_clock();
#pragma unroll 64
    for (int i = 0; i < {steps}; ++i) asm volatile("{load} %0, [%0];" : "+l"(at) :: "memory");
    stop = read_clock();
    out[0] = at;
    keep_clocks(clocks, start, stop);
"""
    method = f"{steps} dependent loads of one thread along a random ring of {size_bytes // KIB} KiB, stride {stride_bytes} B; {note}"
    return Timing(
        isa, name, source, r"LDG", 64, steps, "cycles", method, inputs=lambda: ring(size_bytes, stride_bytes), block=1, sass_most=128
    )


SHARED_CHASE = """
    __shared__ u32 ring[1024];
    for (u32 i = 0; i < 1024; ++i) ring[i] = shared_address(ring) + (i * 33 + 33) % 1024 * 4 + (u32)in[3];
    u32 at = shared_address(ring);
    u64 start, stop;
    for (int i = 0; i < 64; ++i) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
    start = read_clock();
#pragma unroll
    for (int i = 0; i < 256; ++i) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
    stop = read_clock();
    out[0] = at;
    keep_clocks(clocks, start, stop);
"""


def shared_rate(name: str, load: str, width: int, stride: int, step: int, note: str) -> Timing:
    """32 warps load from shared memory, each lane `stride` bytes from the last, each load `step` bytes further."""
    values = [f"v{i}" for i in range(width)]
    registers = ", ".join(f"%{i}" for i in range(width))
    outs = ", ".join(f'"=r"({value})' for value in values)
    target = "{" + registers + "}" if width > 1 else registers
    loads = "\n".join(
        f"""        asm volatile("{load} {target}, [%{width} + {i * step}];" : {outs} : "r"(base) : "memory");
        sum += {" ^ ".join(values)};"""
        for i in range(64)
    )
    source = f"""
    __shared__ __align__(16) u32 memory[8192];
    for (u32 i = threadIdx.x; i < 8192; i += 1024) memory[i] = i;
    const u32 base = shared_address(memory) + lane_id() * {stride};
    u32 {", ".join(values)}, sum = 0;
    u64 start = 0, stop = 0;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {{
        __syncthreads();
        start = read_clock();
{loads}
        out[threadIdx.x] = sum;
        stop = read_clock();
    }}
    keep_clocks(clocks, start, stop);
"""
    method = f"1024 threads on one SM, 64 loads each; {note}"
    return Timing(M + "ld", name, source, r"\bLDS", 64, 64 * 1024 * 4 * width, "per_clock_per_sm", method, "bytes", block=1024)


PROBES = (
    load_probe(M + "ld", "ld.global.u32", 1),
    load_probe(M + "ld", "ld.global.v2.u32", 2),
    load_probe(M + "ld", "ld.global.v4.u32", 4),
    load_probe(M + "ld", "ld.volatile.global.u32", 1),
    load_probe(M + "ld", "ld.relaxed.sys.global.v2.u32", 2),
    load_probe(M + "ld.global.nc", "ld.global.nc.v4.u32", 4),
    load_probe(M + "ld.cache-operators", "ld.global.cg.u32", 1),
    load_probe(M + "ld.cache-operators", "ld.global.cs.v4.u32", 4),
    load_probe(M + "ld.cache-operators", "ld.global.lu.u32", 1),
    load_probe(M + "ld.cache-operators", "ld.global.cv.u32", 1),
    load_probe(M + "ld.eviction-priority", "ld.global.L1::no_allocate.L2::128B.v4.u32", 4),
    load_probe(M + "ld.eviction-priority", "ld.global.nc.L1::evict_last.u32", 1),
    load_probe(M + "ld.acquire", "ld.acquire.gpu.global.u32", 1),
    load_probe(M + "ld.mmio", "ld.mmio.relaxed.sys.global.u32", 1),
    load_probe(M + "ldu", "ldu.global.v4.u32", 4),
    store_probe(M + "st", "st.global.u32", 1),
    store_probe(M + "st", "st.global.v4.u32", 4),
    store_probe(M + "st", "st.global.wt.v2.u32", 2),
    store_probe(M + "st", "st.global.L1::no_allocate.u32", 1),
    store_probe(M + "st.release", "st.release.gpu.global.u32", 1),
    Kernel(M + "ld", "ld.global.u8 s8 u16 s16", NARROW, lambda: [words(32, "narrow")], (128, "uint32"), _narrow),
    Kernel(
        M + "st",
        "st.global.u8 u16",
        STORE_BYTES,
        lambda: [words(32, "bytes")],
        (32, "uint32"),
        lambda a: (a & np.uint32(0xFFFF)) << np.uint32(16) | (a & np.uint32(0xFF)) << np.uint32(8) | np.uint32(0x44),
    ),
    Kernel(
        M + "isspacep",
        "isspacep",
        SPACES,
        lambda: [words(4, "spaces")],
        (160, "uint32"),
        lambda a: np.tile(np.array([1, 2, 4, 1, 7], dtype=np.uint32), 32),
    ),
    Kernel(
        M + "cvta",
        "cvta.shared.u64",
        SPACES,
        lambda: [words(4, "spaces")],
        (160, "uint32"),
        lambda a: np.tile(np.array([1, 2, 4, 1, 7], dtype=np.uint32), 32),
    ),
    Kernel(M + "mov.pack", "mov.b32 mov.b64 pack", PACK, lambda: [words(32, "pack")], (128, "uint32"), _pack),
    *(
        Kernel(K + page, f"{name} leaves values alone", HINTS, lambda: [words(32, "hints")], (32, "uint32"), lambda a: a)
        for page, name in (
            ("prefetch", "prefetch"),
            ("prefetchu", "prefetchu"),
            ("createpolicy", "createpolicy"),
            ("applypriority", "applypriority"),
        )
    ),
    litmus("isa/barrier/fence.acq_rel", "fence.acq_rel.gpu message passing", fenced("fence.acq_rel.gpu")),
    litmus("isa/barrier/membar", "membar.gl message passing", fenced("membar.gl")),
    litmus("isa/memory-model/ordering-semantics", "fence.sc.gpu message passing", fenced("fence.sc.gpu")),
    litmus(M + "st.release", "st.release ld.acquire message passing", ACQUIRE),
    Timing(
        M + "ld",
        "ld.shared.u32 latency",
        SHARED_CHASE,
        r"\bLDS\b",
        256,
        256,
        "cycles",
        "256 dependent loads of one thread along a ring of 4 KiB",
        block=1,
        sass_most=300,
    ),
    chase("ld.global L1 hit latency", "ld.global.u64", 1024, 2048, 16 * KIB, 64, "second walk: in L1"),
    chase(
        "ld.global.cg L2 hit latency", "ld.global.cg.u64", 4096, 8192, 2 * MIB, 512, "second walk: past L1, in L2", M + "ld.cache-operators"
    ),
    chase("ld.global DRAM latency", "ld.global.cg.u64", 512, 16, 512 * MIB, 65536, "every step a line not seen before"),
    shared_rate("ld.shared.u32 rate", "ld.shared.u32", 1, 4, 128, "consecutive words"),
    shared_rate("ld.shared.v4.u32 rate", "ld.shared.v4.u32", 4, 16, 512, "consecutive 16-byte pieces"),
    shared_rate("ld.shared.u32 rate, 32-way conflict", "ld.shared.u32", 1, 128, 8, "all lanes of a warp in one bank"),
)

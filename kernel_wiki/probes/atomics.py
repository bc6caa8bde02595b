"""Atomic operations: each against a sequential model whose order does not matter, then what one costs."""

from __future__ import annotations

import numpy as np

from .numbers import BF16, F16, Format, add, decode, encode
from .probe import Kernel, Timing
from .warp import words

A = "isa/reduction/"
THREADS = 256


def reduce_probe(isa: str, name: str, kind: str, model, space: str = "global", values=None) -> Kernel:
    """256 threads combine their words into one; the operation is associative, so the order is free."""
    wide = kind.endswith("64")
    ctype, constraint = ("u64", "l") if wide else ("u32", "r")
    target = "out" if space == "global" else "cell"
    address = f'"l"({target})' if space == "global" else '"r"(shared_address(cell))'
    source = f"""
    __shared__ __align__(8) u32 cell[2];
    if (threadIdx.x < 2) {target}[threadIdx.x] = in1[threadIdx.x];
    __syncthreads();
    const {ctype} value = (({ctype}*)in0)[threadIdx.x];
    asm volatile("{name} [%0], %1;" :: {address}, "{constraint}"(value) : "memory");
    __syncthreads();
    if (threadIdx.x < 2) out[threadIdx.x] = {target}[threadIdx.x];
"""
    dtype = np.uint64 if wide else np.uint32

    def inputs():
        drawn = values() if values else words(THREADS * (2 if wide else 1), name)
        return [drawn, START.get(name.split(".")[2], np.array([12345, 0], dtype=np.uint32))]

    def expected(drawn, start):
        cell = start.copy()
        cell[: 2 if wide else 1] = np.array([model(drawn.view(dtype), start.view(dtype)[0])], dtype=dtype).view(np.uint32)
        return cell

    return Kernel(isa, name, source, inputs, (2, "uint32"), expected, block=THREADS, cases=THREADS)


START = {"and": np.array([0xFFFFFFFF, 0xFFFFFFFF], dtype=np.uint32)}


def total(values: np.ndarray, start) -> int:
    """The sum modulo the word."""
    return (int(start) + sum(map(int, values))) & (2 ** (8 * values.itemsize) - 1)


def as_signed(values: np.ndarray) -> np.ndarray:
    return values.view(f"i{values.itemsize}")


def small_floats(name: str, dtype) -> np.ndarray:
    """Small integers as floats: their sums are exact in any order."""
    return (words(THREADS, name) % np.uint32(64)).astype(np.float64).astype(dtype).view(np.uint32)


def ticket(name: str, source: str, model, isa: str = A + "atom", count: int = THREADS, inputs=None) -> Kernel:
    return Kernel(isa, name, source, inputs or (lambda: [np.zeros(1, dtype=np.uint32)]), (count, "uint32"), model, block=THREADS)


COUNTER = """
    __shared__ u32 counter;
    if (threadIdx.x == 0) counter = in0[0];
    __syncthreads();
    u32 old;
    asm volatile("OPERATION" : "=r"(old) : "r"(shared_address(&counter)), "r"(99) : "memory");
    if (threadIdx.x < 100) out[threadIdx.x] = 0;
    __syncthreads();
    // Each old value is counted: 256 tickets from a counter that wraps after 99.
    asm volatile("red.global.add.u32 [%0], 1;" :: "l"(out + old % 100) : "memory");
"""


def _tickets_up(start: np.ndarray) -> np.ndarray:
    return np.bincount(np.arange(THREADS) % 100, minlength=100).astype(np.uint32)


def _tickets_down(start: np.ndarray) -> np.ndarray:
    return np.bincount(-np.arange(THREADS) % 100, minlength=100).astype(np.uint32)


EXCHANGE = """
    __shared__ u32 cell;
    if (threadIdx.x == 0) cell = 256;
    if (threadIdx.x < 257) out[threadIdx.x] = 0;
    if (threadIdx.x == 0) out[256] = 0;
    __syncthreads();
    u32 old;
    asm volatile("atom.shared.exch.b32 %0, [%1], %2;" : "=r"(old) : "r"(shared_address(&cell)), "r"(threadIdx.x) : "memory");
    __syncthreads();
    atomicAdd(out + old, 1);          // every value comes back exactly once ...
    if (threadIdx.x == 0) atomicAdd(out + cell, 1);  // ... or stays
"""

CAS_LOOP = """
    // A product by compare-and-swap: each thread multiplies by an odd number until its swap went through.
    __shared__ __align__(16) CTYPE cell[2];
    if (threadIdx.x == 0) cell[0] = 1;
    __syncthreads();
    CTYPE seen = ((volatile CTYPE*)cell)[0], assumed;
    do {
        assumed = seen;
        const CTYPE wanted = assumed * (CTYPE)(2 * threadIdx.x + 1);
        asm volatile("atom.shared.cas.BITS %0, [%1], %2, %3;"
                     : "=CONSTRAINT"(seen) : "r"(shared_address(cell)), "CONSTRAINT"(assumed), "CONSTRAINT"(wanted) : "memory");
    } while (seen != assumed);
    __syncthreads();
    if (threadIdx.x == 0) out[0] = (u32)cell[0], out[1] = (u32)((u64)cell[0] >> 32);
"""


def cas_probe(bits: int) -> Kernel:
    constraint = {16: "h", 32: "r", 64: "l"}[bits]
    source = CAS_LOOP.replace("CTYPE", f"u{bits}").replace("BITS", f"b{bits}").replace("CONSTRAINT", constraint)

    def model() -> np.ndarray:
        product = 1
        for i in range(THREADS):
            product = product * (2 * i + 1) & ((1 << bits) - 1)
        return np.array([product & 0xFFFFFFFF, product >> 32], dtype=np.uint32)

    return Kernel(A + "atom", f"atom.shared.cas.b{bits}", source, list, (2, "uint32"), model, block=THREADS, cases=THREADS)


CAS128 = """
    // Two counters in one 16-byte word, moved together: both must arrive at the number of threads times their steps.
    u64* cell = (u64*)out;
    if (threadIdx.x == 0) cell[0] = 0, cell[1] = 0;
    __syncthreads();
    u64 low = 0, high = 0, seen_low, seen_high;
    while (true) {
        asm volatile("{.reg .b128 expected, wanted, seen; mov.b128 expected, {%3, %4}; mov.b128 wanted, {%5, %6}; "
                     "atom.global.cas.b128 seen, [%2], expected, wanted; mov.b128 {%0, %1}, seen;}"
                     : "=&l"(seen_low), "=&l"(seen_high) : "l"(cell), "l"(low), "l"(high), "l"(low + 1), "l"(high + 3) : "memory");
        if (seen_low == low && seen_high == high) break;
        low = seen_low, high = seen_high;
    }
"""

VECTOR = """
    if (threadIdx.x < 4) out[threadIdx.x] = 0;
    __syncthreads();
    const u32* v = in0 + threadIdx.x * 4;
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" :: "l"(out), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
"""


def _vector(values: np.ndarray) -> np.ndarray:
    return values.view(np.float32).reshape(-1, 4).sum(axis=0, dtype=np.float64).astype(np.float32).view(np.uint32)


HALVES = """
    // Each thread adds to a word of its own: one rounding each, to be compared bit by bit.
    out[threadIdx.x] = in0[threadIdx.x];
    asm volatile("OPERATION" :: "l"(out + threadIdx.x), "r"(in1[threadIdx.x]) : "memory");
"""


def finite_pairs(form: Format, name: str) -> np.ndarray:
    """Words of two lanes with exponents near one."""
    bits = words(THREADS, name)
    for shift in (0, 16):
        field = np.uint32(((1 << form.exponent_bits) - 1) << (form.mantissa_bits + shift))
        near = (np.uint32(form.bias) + (bits >> np.uint32(shift)) % np.uint32(4)) << np.uint32(form.mantissa_bits + shift)
        bits = (bits & ~field) | near
    return bits


def half_add(form: Format, kind: str) -> Kernel:
    operation = f"red.global.add.noftz.{kind} [%0], %1;"

    def model(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        out = []
        for a, b in zip(first.tolist(), second.tolist()):
            lanes = [_sum(form, a >> s & 0xFFFF, b >> s & 0xFFFF) << s for s in (0, 16)]
            out.append(lanes[0] | lanes[1])
        return np.array(out, dtype=np.uint32)

    inputs = lambda: [finite_pairs(form, kind), finite_pairs(form, kind + " second")]  # noqa: E731
    return Kernel(
        A + "atom.noftz",
        f"red.global.add.noftz.{kind}",
        HALVES.replace("OPERATION", operation),
        inputs,
        (THREADS, "uint32"),
        model,
        block=THREADS,
    )


def _sum(form: Format, a: int, b: int) -> int:
    return encode(form, add(decode(form, a), decode(form, b)))


def latency(isa: str, name: str, step: str, sass: str, space: str, threads: int = 1, count: int = 256, note: str = "") -> Timing:
    """Dependent atomics of one thread: each result is the next operand."""
    pointer = '"l"(out)' if space == "global" else '"r"(shared_address(cell))'
    source = f"""
    __shared__ u32 cell[32];
    if (threadIdx.x < 32) cell[threadIdx.x] = 0;
    if (threadIdx.x == 0) out[0] = 0;
    u32 x = (u32)in[0];
    u64 start = 0, stop = 0;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {{
        __syncthreads();
        start = read_clock();
#pragma unroll
        for (int i = 0; i < {count}; ++i) asm volatile("{step}" : "+r"(x) : {pointer} : "memory");
        out[8 + threadIdx.x] = x;
        stop = read_clock();
    }}
    keep_clocks(clocks, start, stop);
"""
    method = f"{count} dependent atomics of {threads} thread{'s' if threads > 1 else ''} on one address{note}"
    return Timing(isa, name, source, sass, count, count, "cycles", method, block=threads)


ADD = "atom.{space}.add.u32 %0, [%1], %0;"

PROBES = (
    reduce_probe(A + "red", "red.global.add.u32", "u32", total),
    reduce_probe(A + "red", "red.global.add.u64", "u64", total),
    reduce_probe(A + "red", "red.global.min.s32", "s32", lambda v, s: min(int(as_signed(v).min()), int(np.int32(s))) & 0xFFFFFFFF),
    reduce_probe(A + "red", "red.global.max.u64", "u64", lambda v, s: max(int(v.max()), int(s))),
    reduce_probe(
        A + "red",
        "red.global.and.b32",
        "b32",
        lambda v, s: int(np.bitwise_and.reduce(v | np.uint32(0x0F0F0F0F)) & s),
        values=lambda: words(THREADS, "and") | np.uint32(0x0F0F0F0F),
    ),
    reduce_probe(
        A + "red",
        "red.global.or.b64",
        "b64",
        lambda v, s: int(np.bitwise_or.reduce(v)) | int(s),
        values=lambda: words(2 * THREADS, "or") & words(2 * THREADS, "or2") & np.uint32(0x00FF00F0),
    ),
    reduce_probe(A + "red", "red.global.xor.b32", "b32", lambda v, s: int(np.bitwise_xor.reduce(v)) ^ int(s)),
    reduce_probe(A + "atom.shared", "red.shared.add.u32", "u32", total, "shared"),
    reduce_probe(
        A + "atom.shared", "red.shared.max.s32", "s32", lambda v, s: max(int(as_signed(v).max()), int(np.int32(s))) & 0xFFFFFFFF, "shared"
    ),
    ticket("atom.shared.inc.u32", COUNTER.replace("OPERATION", "atom.shared.inc.u32 %0, [%1], %2;"), _tickets_up, A + "atom.shared", 100),
    ticket("atom.shared.dec.u32", COUNTER.replace("OPERATION", "atom.shared.dec.u32 %0, [%1], %2;"), _tickets_down, A + "atom.shared", 100),
    ticket("atom.shared.exch.b32", EXCHANGE, lambda start: np.ones(257, dtype=np.uint32), A + "atom.shared", 257),
    cas_probe(16),
    cas_probe(32),
    cas_probe(64),
    Kernel(
        A + "atom.cas.b128",
        "atom.global.cas.b128",
        CAS128,
        list,
        (4, "uint32"),
        lambda: np.array([THREADS, 0, 3 * THREADS, 0], dtype=np.uint32),
        block=THREADS,
        cases=THREADS,
    ),
    Kernel(
        A + "atom.vector",
        "red.global.add.v4.f32",
        VECTOR,
        lambda: [small_floats("vector", np.float32).repeat(4)],
        (4, "uint32"),
        _vector,
        block=THREADS,
        cases=THREADS,
    ),
    half_add(F16, "f16x2"),
    half_add(BF16, "bf16x2"),
    Kernel(
        A + "red",
        "red.global.add.f32 small integers",
        VECTOR.replace("v4.f32 [%0], {%1, %2, %3, %4}", "f32 [%0], %1").replace(', "r"(v[1]), "r"(v[2]), "r"(v[3])', ""),
        lambda: [small_floats("scalar", np.float32).repeat(4)],
        (4, "uint32"),
        lambda v: np.concatenate([_vector(v)[:1], np.zeros(3, dtype=np.uint32)]),
        block=THREADS,
        cases=THREADS,
    ),
    Kernel(
        A + "red",
        "red.global.add.f32 flushes subnormals",
        HALVES.replace("OPERATION", "red.global.add.f32 [%0], %1;"),
        lambda: [
            np.array([0x00000001, 0x007FFFFF, 0x00400000, 0x80000001] * 64, dtype=np.uint32),
            np.array([0x00000001, 0x00000001, 0x3F800000, 0x00400000] * 64, dtype=np.uint32),
        ],
        (THREADS, "uint32"),
        lambda first, second: np.array([0, 0, 0x3F800000, 0] * 64, dtype=np.uint32),
        block=THREADS,
        note="global f32 atomics flush subnormal inputs and results to zero of the same sign",
    ),
    latency(A + "atom", "atom.global.add.u32 latency", ADD.format(space="global"), r"\bATOMG?\b", "global"),
    latency(A + "atom.shared", "atom.shared.add.u32 latency", ADD.format(space="shared"), r"\bATOMS\b", "shared"),
    latency(
        A + "atom.shared",
        "atom.shared.exch.b32 latency, 32 lanes on one word",
        "atom.shared.exch.b32 %0, [%1], %0;",
        r"\bATOMS\b",
        "shared",
        32,
    ),
    latency(A + "atom.shared", "atom.shared.cas.b32 latency", "atom.shared.cas.b32 %0, [%1], %0, 7;", r"\bATOMS\b", "shared"),
    latency(A + "atom", "atom.global.cas.b32 latency", "atom.global.cas.b32 %0, [%1], %0, 7;", r"\bATOMG?\b", "global"),
)

"""Warp-level tensor-core instructions: fragment layouts element by element, and their cost.

Every operand element is a small integer, so that sums are exact in any order and any accumulator.
"""

from __future__ import annotations

import numpy as np

from .numbers import BF16, E4M3, E5M2, F16, F32, Format, encode
from .operands import seeded
from .probe import Kernel, Timing
from .warp import words

X = "isa/matrix/"
LANES = np.arange(32)
GROUP, THREAD = LANES // 4, LANES % 4
"""g and t of the PTX ISA's fragment tables."""


def ldmatrix(values: np.ndarray, transposed: bool) -> np.ndarray:
    """Register j of lane 4 g + t: elements (g, 2 t) and (g, 2 t + 1) of matrix j, or of its transpose."""
    tiles = values.view(np.uint16).reshape(4, 8, 8)
    if transposed:
        tiles = tiles.transpose(0, 2, 1)
    out = np.zeros((32, 4), dtype=np.uint32)
    for j in range(4):
        low, high = tiles[j, GROUP, 2 * THREAD], tiles[j, GROUP, 2 * THREAD + 1]
        out[:, j] = low.astype(np.uint32) | high.astype(np.uint32) << np.uint32(16)
    return out.ravel()


LDMATRIX = """
    __shared__ __align__(16) u32 tiles[128];
    for (u32 i = lane_id(); i < 128; i += 32) tiles[i] = in0[i];
    __syncwarp();
    u32 r[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4TRANS.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(tiles) + lane_id() * 16) : "memory");
    for (int i = 0; i < 4; ++i) out[lane_id() * 4 + i] = r[i];
"""

STMATRIX = """
    __shared__ __align__(16) u32 tiles[128];
    const u32* r = in0 + lane_id() * 4;
    asm volatile("stmatrix.sync.aligned.m8n8.x4TRANS.shared.b16 [%4], {%0, %1, %2, %3};"
                 :: "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(shared_address(tiles) + lane_id() * 16) : "memory");
    __syncwarp();
    for (u32 i = lane_id(); i < 128; i += 32) out[i] = tiles[i];
"""


def stmatrix(registers: np.ndarray, transposed: bool) -> np.ndarray:
    """The inverse of ldmatrix."""
    halves = registers.view(np.uint16).reshape(32, 4, 2)
    tiles = np.zeros((4, 8, 8), dtype=np.uint16)
    for j in range(4):
        for k in (0, 1):
            tiles[j, GROUP, 2 * THREAD + k] = halves[:, j, k]
    if transposed:
        tiles = tiles.transpose(0, 2, 1)
    return np.ascontiguousarray(tiles).view(np.uint32).ravel()


MOVMATRIX = """
    u32 d;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(d) : "r"(in0[lane_id()]) : "memory");
    out[lane_id()] = d;
"""


def movmatrix(registers: np.ndarray) -> np.ndarray:
    tile = np.zeros((8, 8), dtype=np.uint16)
    halves = registers.view(np.uint16).reshape(32, 2)
    for k in (0, 1):
        tile[GROUP, 2 * THREAD + k] = halves[:, k]
    tile = tile.T
    return tile[GROUP, 2 * THREAD].astype(np.uint32) | tile[GROUP, 2 * THREAD + 1].astype(np.uint32) << np.uint32(16)


class Shape:
    """Which element of A, B and D each register holds, for the m16n8 family: `per` elements of the type lie in one 32-bit register.

    Rows of A registers alternate g and g + 8; their k advances by 4 `per` after each pair. B has k in the rows, column g.
    """

    def __init__(self, k: int, per: int) -> None:
        self.k, self.per = k, per
        self.a_registers, self.b_registers = k // (2 * per), k // (4 * per)

    def a(self, register: int, element: int) -> tuple[np.ndarray, np.ndarray]:
        """Row and column of A for every lane."""
        return GROUP + 8 * (register % 2), THREAD * self.per + element + 4 * self.per * (register // 2)

    def b(self, register: int, element: int) -> tuple[np.ndarray, np.ndarray]:
        """Row (k) and column (n) of B for every lane."""
        return THREAD * self.per + element + 4 * self.per * register, GROUP


def patterns(form: Format | None, values: np.ndarray, bits: int) -> np.ndarray:
    """Small integers as bit patterns of a format; `bits` of storage, tf32 in the upper part of its word."""
    from fractions import Fraction

    if form is None:
        return values.astype(np.int64) & ((1 << bits) - 1)
    table = {v: encode(form, Fraction(int(v)) if v else 0.0) for v in np.unique(values).tolist()}
    return np.vectorize(table.__getitem__)(values).astype(np.int64)


def packed(shape: Shape, where, registers: int, matrix: np.ndarray) -> np.ndarray:
    """`(32, registers) uint32`: the fragments of a matrix of patterns."""
    bits = 32 // shape.per
    out = np.zeros((32, registers), dtype=np.int64)
    for register in range(registers):
        for element in range(shape.per):
            row, column = where(register, element)
            out[:, register] |= matrix[row, column] << (bits * element)
    return out.astype(np.uint32)


def small(name: str, rows: int, columns: int, low: int = -4, high: int = 5) -> np.ndarray:
    return seeded(name).integers(low, high, (rows, columns))


def mma_probe(isa: str, name: str, shape: Shape, forms: tuple[Format | None, Format | None], integer: bool, low: int = -4) -> Kernel:
    """D = A B + C, C an integer in each element; the model multiplies the matrices that the fragments were cut from."""
    letter = "r" if integer else "f"
    a, b, c = small(name + "a", 16, shape.k, low), small(name + "b", shape.k, 8, low), small(name + "c", 16, 8)
    bits = 32 // shape.per
    a_bits, b_bits = patterns(forms[0], a, bits), patterns(forms[1], b, bits)
    na, nb = shape.a_registers, shape.b_registers
    numbered = [f"%{i}" for i in range(4 + na + nb)]
    group = lambda first, count: "{" + ", ".join(numbered[first : first + count]) + "}"  # noqa: E731
    text = f"{name} {group(0, 4)}, {group(4, na)}, {group(4 + na, nb)}, {group(0, 4)};"
    reads = ", ".join([*(f'"r"(a[{i}])' for i in range(na)), *(f'"r"(b[{i}])' for i in range(nb))])
    writes = ", ".join(f'"+{letter}"(d[{i}])' for i in range(4))
    source = f"""
    const u32 *a = in0 + lane_id() * {na}, *b = in1 + lane_id() * {nb};
    {"u32" if integer else "float"} d[4];
    for (int i = 0; i < 4; ++i) d[i] = (({"u32" if integer else "float"}*)in2)[lane_id() * 4 + i];
    asm volatile("{text}" : {writes} : {reads} : "memory");
    for (int i = 0; i < 4; ++i) out[lane_id() * 4 + i] = {"d[i]" if integer else "__float_as_uint(d[i])"};
"""

    def inputs() -> list[np.ndarray]:
        return [packed(shape, shape.a, na, a_bits), packed(shape, shape.b, nb, b_bits), accumulator(c, integer)]

    return Kernel(isa, name, source, inputs, (128, "uint32"), lambda *_: accumulator(a @ b + c, integer).ravel())


def accumulator(matrix: np.ndarray, integer: bool) -> np.ndarray:
    """`(32, 4)`: D registers 0, 1 hold row g, columns 2 t and 2 t + 1, registers 2, 3 row g + 8."""
    values = np.stack([matrix[GROUP + 8 * (i // 2), 2 * THREAD + i % 2] for i in range(4)], axis=1)
    return (values.astype(np.int32) if integer else values.astype(np.float32)).view(np.uint32)


MMA_F64 = """
    const double a = ((double*)in0)[lane_id()], b = ((double*)in1)[lane_id()];
    double d[2] = {((double*)in2)[lane_id() * 2], ((double*)in2)[lane_id() * 2 + 1]};
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(d[0]), "+d"(d[1]) : "d"(a), "d"(b));
    ((double*)out)[lane_id() * 2] = d[0], ((double*)out)[lane_id() * 2 + 1] = d[1];
"""


def _f64_inputs() -> list[np.ndarray]:
    a, b, c = (small("f64" + n, r, k) for n, r, k in (("a", 8, 4), ("b", 4, 8), ("c", 8, 8)))
    fragments = a[GROUP, THREAD], b[THREAD, GROUP], np.stack([c[GROUP, 2 * THREAD], c[GROUP, 2 * THREAD + 1]], axis=1)
    return [each.astype(np.float64).view(np.uint32) for each in fragments]


def _f64_model(*_: np.ndarray) -> np.ndarray:
    d = small("f64a", 8, 4) @ small("f64b", 4, 8) + small("f64c", 8, 8)
    return np.stack([d[GROUP, 2 * THREAD], d[GROUP, 2 * THREAD + 1]], axis=1).astype(np.float64).view(np.uint32).ravel()


WMMA = """
    // A 16 x 16 product whose fragments nobody needs to know: load, multiply, store.
    __shared__ __align__(32) u16 a[256], b[256];
    __shared__ __align__(32) float d[256];
    for (u32 i = lane_id(); i < 256; i += 32) a[i] = in0[i], b[i] = in1[i], d[i] = ((float*)in2)[i];
    __syncwarp();
    asm volatile(
        "{.reg .b32 a<8>, b<8>; .reg .f32 c<8>;"
        "wmma.load.a.sync.aligned.m16n16k16.row.shared.f16 {a0, a1, a2, a3, a4, a5, a6, a7}, [%0], 16;"
        "wmma.load.b.sync.aligned.m16n16k16.col.shared.f16 {b0, b1, b2, b3, b4, b5, b6, b7}, [%1], 16;"
        "wmma.load.c.sync.aligned.m16n16k16.row.shared.f32 {c0, c1, c2, c3, c4, c5, c6, c7}, [%2], 16;"
        "wmma.mma.sync.aligned.m16n16k16.row.col.f32.f32 {c0, c1, c2, c3, c4, c5, c6, c7}, {a0, a1, a2, a3, a4, a5, a6, a7}, "
        "{b0, b1, b2, b3, b4, b5, b6, b7}, {c0, c1, c2, c3, c4, c5, c6, c7};"
        "wmma.store.d.sync.aligned.m16n16k16.row.shared.f32 [%2], {c0, c1, c2, c3, c4, c5, c6, c7}, 16;}"
        :: "r"(shared_address(a)), "r"(shared_address(b)), "r"(shared_address(d)) : "memory");
    __syncwarp();
    for (u32 i = lane_id(); i < 256; i += 32) out[i] = __float_as_uint(d[i]);
"""


def _wmma_inputs() -> list[np.ndarray]:
    a, b, c = (small("wmma" + n, 16, 16) for n in "abc")
    return [patterns(F16, a, 16).astype(np.uint32), patterns(F16, b.T, 16).astype(np.uint32), c.astype(np.float32).view(np.uint32)]


def _wmma_model(*_: np.ndarray) -> np.ndarray:
    a, b, c = (small("wmma" + n, 16, 16) for n in "abc")
    return (a @ b + c).astype(np.float32).view(np.uint32).ravel()


SPARSE = """
    const u32 *a = in0 + lane_id() * 4, *b = in1 + lane_id() * 4;
    float d[4] = {0, 0, 0, 0};
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0x0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                   "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(in2[0]));
    for (int i = 0; i < 4; ++i) out[lane_id() * 4 + i] = __float_as_uint(d[i]);
"""
KEPT = (1, 3)
"""Of each four elements of a row of A; the same everywhere, so that no question of which lane holds whose metadata arises."""


def _sparse_inputs() -> list[np.ndarray]:
    a, b = small("sparse a", 16, 16), small("sparse b", 32, 8)
    half, full = Shape(16, 2), Shape(32, 2)
    metadata = sum((KEPT[0] | KEPT[1] << 2) << 4 * i for i in range(8))
    return [
        packed(half, half.a, 4, patterns(F16, a, 16)),
        packed(full, full.b, 4, patterns(F16, b, 16)),
        np.array([metadata], dtype=np.uint32),
    ]


def _sparse_model(*_: np.ndarray) -> np.ndarray:
    a, b = small("sparse a", 16, 16), small("sparse b", 32, 8)
    dense = np.zeros((16, 32), dtype=np.int64)
    for i in range(8):
        for j in (0, 1):
            dense[:, 4 * i + KEPT[j]] = a[:, 2 * i + j]
    return accumulator(dense @ b, False).ravel()


def mma_source(name: str, na: int, nb: int, integer: bool, chains: int, steps: int, vary: bool, passes: int = 1) -> str:
    """`passes` timed passes, after one to warm up, of `steps` products into each of `chains` accumulators.

    With `vary` A changes in between, so that no product can be reused.
    """
    letter, ctype = ("r", "u32") if integer else ("f", "float")
    first, count = 4 * chains, na + nb
    numbered = [f"%{i}" for i in range(first + count)]
    group = lambda at, size: "{" + ", ".join(numbered[at : at + size]) + "}"  # noqa: E731
    change = f"add.u32 %{first}, %{first}, %{first + na}; " if vary else ""
    lines = "\n            ".join(
        f'"{change}{name} {group(4 * i, 4)}, {group(first, na)}, {group(first + na, nb)}, {group(4 * i, 4)};\\n"'
        for _ in range(steps)
        for i in range(chains)
    )
    outs = ", ".join([*(f'"+{letter}"(d[{i}])' for i in range(first)), *(f'"+r"(f[{i}])' for i in range(count))])
    return f"""
    {ctype} d[{first}];
    u32 f[{count}];
    for (int i = 0; i < {first}; ++i) d[i] = ({ctype})in[6];
    for (int i = 0; i < {count}; ++i) f[i] = (u32)in[5];
    u64 start = 0, stop = 0;
#pragma unroll 1
    for (int pass = 0; pass <= {passes}; ++pass) {{
        if (pass < 2) {{
            __syncthreads();
            start = read_clock();
        }}
        asm volatile(
            {lines}
            : {outs} :: "memory");
    }}
    stop = read_clock();
    {ctype} sum = 0;
    for (int i = 0; i < {first}; ++i) sum += d[i];
    out[threadIdx.x] = (u64)sum;
    keep_clocks(clocks, start, stop);
"""


RATE_PASSES = 16
"""Of a rate's measurement, so that its beginning and end do not count."""


def mma_cost(isa: str, name: str, na: int, nb: int, operations: int, integer: bool = False, emulated: bool = False) -> tuple[Timing, ...]:
    """Latency of products chained through the accumulator, and the rate of 16 warps with four accumulators each."""
    sass = r"\b[HIDQ]G?MMA"
    latency = Timing(
        isa,
        f"{name} latency",
        mma_source(name, na, nb, integer, 1, 128, False),
        sass,
        128,
        128,
        "cycles",
        "128 products of one warp, each adding to the last's result",
        sass_most=512,
    )
    rate = Timing(
        isa,
        f"{name} rate",
        mma_source(name, na, nb, integer, 4, 32, emulated, RATE_PASSES),
        sass,
        128,
        128 * 16 * operations * RATE_PASSES,
        "per_clock_per_sm",
        f"16 warps on one SM, four accumulators each, 32 products to each, {RATE_PASSES} times over",
        "operations (a multiply-add is two)",
        block=512,
        seeds=(0, 0, 0, 0, 0, 0x01010101),
        sass_most=512,
    )
    return (rate,) if emulated else (latency, rate)


LDMATRIX_CHAIN = """
    // Every word of shared memory holds the address of its own row: what a load returns is where the next one reads.
    __shared__ __align__(16) u32 tiles[128];
    for (u32 i = threadIdx.x; i < 128; i += 32) tiles[i] = 0;
    __syncwarp();
    u32 at = shared_address(tiles) + lane_id() * 16;
    const u32 home = at;
    u64 start = 0, stop = 0;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
        start = read_clock();
#pragma unroll
        for (int i = 0; i < 64; ++i) {
            u32 r0, r1, r2, r3;
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(at) : "memory");
            at = home + r3;
        }
        stop = read_clock();
    }
    out[threadIdx.x] = at;
    keep_clocks(clocks, start, stop);
"""

K16, K8, K32 = Shape(16, 2), Shape(8, 1), Shape(32, 4)


MMA, FP8, INT8 = X + "mma.sync", X + "mma.sync.fp8", X + "mma.sync.int8"
PREFIX = "mma.sync.aligned."

PROBES = (
    *(
        Kernel(
            X + "ldmatrix",
            f"ldmatrix.m8n8.x4{trans}",
            LDMATRIX.replace("TRANS", trans),
            lambda: [words(128, "ldmatrix")],
            (128, "uint32"),
            lambda v, trans=trans: ldmatrix(v, bool(trans)),
        )
        for trans in ("", ".trans")
    ),
    *(
        Kernel(
            X + "stmatrix",
            f"stmatrix.m8n8.x4{trans}",
            STMATRIX.replace("TRANS", trans),
            lambda: [words(128, "stmatrix")],
            (128, "uint32"),
            lambda v, trans=trans: stmatrix(v, bool(trans)),
        )
        for trans in ("", ".trans")
    ),
    Kernel(X + "movmatrix", "movmatrix.m8n8.trans.b16", MOVMATRIX, lambda: [words(32, "movmatrix")], (32, "uint32"), movmatrix),
    mma_probe(MMA, PREFIX + "m16n8k16.row.col.f32.f16.f16.f32", K16, (F16, F16), False),
    mma_probe(MMA, PREFIX + "m16n8k16.row.col.f32.bf16.bf16.f32", K16, (BF16, BF16), False),
    mma_probe(MMA, PREFIX + "m16n8k8.row.col.f32.tf32.tf32.f32", K8, (F32, F32), False),
    mma_probe(INT8, PREFIX + "m16n8k32.row.col.s32.s8.s8.s32", K32, (None, None), True, -128),
    mma_probe(INT8, PREFIX + "m16n8k32.row.col.s32.u8.s8.s32", K32, (None, None), True, 0),
    mma_probe(FP8, PREFIX + "m16n8k32.row.col.f32.e4m3.e4m3.f32", K32, (E4M3, E4M3), False),
    mma_probe(FP8, PREFIX + "m16n8k32.row.col.f32.e5m2.e4m3.f32", K32, (E5M2, E4M3), False),
    Kernel(X + "mma.sync.fp64", "mma.sync.m8n8k4.f64", MMA_F64, _f64_inputs, (128, "uint32"), _f64_model),
    *(
        Kernel(X + page, f"{name} m16n16k16 f16", WMMA, _wmma_inputs, (256, "uint32"), _wmma_model)
        for page, name in (("wmma", "wmma.mma"), ("wmma.load", "wmma.load"), ("wmma.store", "wmma.store"))
    ),
    Kernel(X + "mma.sp.ordered_metadata", "mma.sp::ordered_metadata m16n8k32 f16", SPARSE, _sparse_inputs, (128, "uint32"), _sparse_model),
    *mma_cost(MMA, PREFIX + "m16n8k16.row.col.f32.bf16.bf16.f32", 4, 2, 2 * 16 * 8 * 16),
    *mma_cost(MMA, PREFIX + "m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 2 * 16 * 8 * 16),
    *mma_cost(MMA, PREFIX + "m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, 2 * 16 * 8 * 8),
    *mma_cost(INT8, PREFIX + "m16n8k32.row.col.s32.s8.s8.s32", 4, 2, 2 * 16 * 8 * 32, True),
    *mma_cost(FP8, PREFIX + "m16n8k32.row.col.f32.e4m3.e4m3.f32", 4, 2, 2 * 16 * 8 * 32, emulated=True),
    Timing(
        X + "ldmatrix",
        "ldmatrix.m8n8.x4 latency",
        LDMATRIX_CHAIN,
        r"LDSM",
        64,
        64,
        "cycles",
        "64 dependent loads of one warp, each with an add",
    ),
)

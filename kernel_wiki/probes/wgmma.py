"""The warpgroup multiply: descriptors and layouts of shared operands, the fragment of D, and the rate."""

from __future__ import annotations

import numpy as np

from .matrix import patterns, small
from .numbers import BF16, E4M3, F16, F32, Format
from .probe import Kernel, Timing

W = "isa/wgmma/"
MMA = W + "wgmma.mma_async"
ROWS = 64
SWIZZLE_CODES = {"none": 0, "128B": 1, "64B": 2, "32B": 3}
SWIZZLE_SPANS = {"128B": 128, "64B": 64, "32B": 32}
WARPGROUP = np.arange(128)
WARP_ROW = 16 * (WARPGROUP // 32) + WARPGROUP % 32 // 4
COLUMN = 2 * (WARPGROUP % 4)


def image(matrix: np.ndarray, size: int, swizzle: str) -> np.ndarray:
    """A K-major operand as it lies in shared memory, in 32-bit words.

    Without swizzle: core matrices of 8 rows by 16 bytes, those along k 128 bytes apart, then the next 8 rows. With: rows of one
    swizzle span, the 16-byte chunks of each 128-byte line exchanged by the address bits above.

    Args:
        matrix: `(rows, k)` bit patterns of `size` bytes each.
    """
    rows, k = matrix.shape
    row, column = np.meshgrid(np.arange(rows), np.arange(k) * size, indexing="ij")
    if swizzle == "none":
        offset = row // 8 * (8 * k * size) + column // 16 * 128 + row % 8 * 16 + column % 16
    else:
        span = SWIZZLE_SPANS[swizzle]
        offset = row * span + column
        offset = offset ^ (offset >> 3 & (span - 16))
    return laid_out(matrix, offset, size)


def laid_out(matrix: np.ndarray, offset: np.ndarray, size: int) -> np.ndarray:
    """The elements of a matrix at their byte offsets."""
    flat = np.zeros(int(offset.max()) // 128 * 128 + 128, dtype=np.uint8)
    for byte in range(size):
        flat[offset + byte] = matrix >> (8 * byte) & 0xFF
    return flat.view(np.uint32)


def image_n_major(matrix: np.ndarray) -> np.ndarray:
    """`(k, 64)` of 16-bit patterns, n contiguous in rows of 128 bytes with the 128-byte swizzle."""
    row, column = np.meshgrid(np.arange(matrix.shape[0]), np.arange(64) * 2, indexing="ij")
    offset = row * 128 + column
    return laid_out(matrix, offset ^ (offset >> 3 & 0x70), 2)


def fragment(matrix: np.ndarray) -> np.ndarray:
    """D of a warpgroup: warp w has rows 16 w + g and + 8, register 4 j + i columns 8 j + 2 t and + 1. `(128, n / 2)`."""
    columns = range(matrix.shape[1] // 2)
    return np.stack([matrix[WARP_ROW + 8 * (i // 2 % 2), COLUMN + 8 * (i // 4) + i % 2] for i in columns], axis=1)


def as_words(matrix: np.ndarray, integer: bool) -> np.ndarray:
    return (matrix.astype(np.int32) if integer else matrix.astype(np.float32)).view(np.uint32)


SOURCE = """
    __shared__ __align__(1024) u32 a[AWORDS], b[BWORDS];
    for (u32 i = threadIdx.x; i < AWORDS; i += 128) a[i] = in0[i];
    for (u32 i = threadIdx.x; i < BWORDS; i += 128) b[i] = in1[i];
    fence_async_proxy();  // written by threads, read by the tensor cores
    __syncthreads();
    const u64 fixed = (u64)(LBO >> 4) << 16 | (u64)(SBO >> 4) << 32 | (u64)CODEull << 62;
    const u64 fixed_b = (u64)(LBO >> 4) << 16 | (u64)(SBOB >> 4) << 32 | (u64)CODEull << 62;
    TYPE d[NREG];
    for (int i = 0; i < NREG; ++i) d[i] = 777;  // the first product must overwrite it
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (u32 step = 0; step < STEPS; ++step) {
        const u64 da = fixed | (shared_address(a) + step * 32 & 0x3FFFF) >> 4;
        const u64 db = fixed_b | (shared_address(b) + step * STEPB & 0x3FFFF) >> 4;
        asm volatile("{.reg .pred p; setp.ne.u32 p, %PRED, 0; INSTRUCTION {DREGS}, %DESCA, %DESCB, pTAIL;}"
                     : WRITES : "l"(da), "l"(db), "r"(step) : "memory");
    }
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < NREG; ++i) out[threadIdx.x * NREG + i] = CAST(d[i]);
"""


def filled(text: str, **values) -> str:
    """Placeholders in capitals replaced, the longest first."""
    for name in sorted(values, key=len, reverse=True):
        text = text.replace(name, str(values[name]))
    return text


def shared_probe(
    name: str,
    n: int,
    k: int,
    forms: tuple[Format | None, Format | None],
    size: int,
    swizzle: str,
    steps: int = 1,
    tail: str = "1, 1",
    isa: str = MMA,
    n_major: bool = False,
    sign: int = 1,
    label: str = "",
) -> Kernel:
    """D = A B over `steps` instructions of `k`, both operands in shared memory."""
    integer, kk = forms[0] is None, k * steps
    a, b = small(name + "A", ROWS, kk), small(name + "B", kk, n)
    a_words = image(patterns(forms[0], a, 8 * size), size, swizzle)
    b_bits = patterns(forms[1], b, 8 * size)
    b_words = image_n_major(b_bits) if n_major else image(b_bits.T, size, swizzle)
    registers = n // 2
    # Without swizzle LBO leads from one 16-byte column of core matrices to the next, SBO from 8 rows to the next 8.
    span = 8 * kk * size if swizzle == "none" else 8 * SWIZZLE_SPANS[swizzle]
    source = filled(
        SOURCE,
        AWORDS=a_words.size,
        BWORDS=b_words.size,
        LBO=128 if swizzle == "none" else 16,
        SBO=span,
        SBOB=1024 if n_major else span,
        CODE=SWIZZLE_CODES[swizzle],
        TYPE="u32" if integer else "float",
        NREG=registers,
        STEPS=steps,
        STEPB=2048 if n_major else 32,
        INSTRUCTION=name,
        DREGS=", ".join(f"%{i}" for i in range(registers)),
        PRED=registers + 2,
        DESCA=registers,
        DESCB=registers + 1,
        TAIL="" if integer else ", " + tail,
        CAST="(u32)" if integer else "__float_as_uint",
        WRITES=", ".join(f'"+{"r" if integer else "f"}"(d[{i}])' for i in range(registers)),
    )
    expected = as_words(fragment(sign * (a @ b)), integer).ravel()
    return Kernel(
        isa,
        f"{name} swizzle {swizzle}{label}",
        source,
        lambda: [a_words, b_words],
        (128 * registers, "uint32"),
        lambda *_: expected,
        block=128,
    )


REGISTER_A = """
    __shared__ __align__(1024) u32 b[128];
    b[threadIdx.x] = in1[threadIdx.x];
    fence_async_proxy();
    __syncthreads();
    const u32* a = in0 + threadIdx.x * 4;
    u32 f[4] = {a[0], a[1], a[2], a[3]};
    const u64 db = (u64)(128 >> 4) << 16 | (u64)(256 >> 4) << 32 | (shared_address(b) & 0x3FFFF) >> 4;
    float d[8];
    for (int i = 0; i < 8; ++i) d[i] = __uint_as_float(in2[threadIdx.x * 8 + i]);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, 1, 1, 1, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
                 : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "l"(db) : "memory");
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 8; ++i) out[threadIdx.x * 8 + i] = __float_as_uint(d[i]);
"""


def _register_a() -> tuple[list[np.ndarray], np.ndarray]:
    """A's four registers follow m16n8k16 in each warp's 16 rows; C is added to."""
    a, b, c = small("ra", ROWS, 16), small("rb", 16, 16), small("rc", ROWS, 16)
    bits = patterns(F16, a, 16)
    registers = np.zeros((128, 4), dtype=np.int64)
    for i in range(4):
        for element in (0, 1):
            registers[:, i] |= bits[WARP_ROW + 8 * (i % 2), COLUMN + 8 * (i // 2) + element] << 16 * element
    inputs = [registers.astype(np.uint32), image(patterns(F16, b, 16).T, 2, "none"), as_words(fragment(c), False)]
    return inputs, as_words(fragment(a @ b + c), False).ravel()


def cost(kind: str, n: int, k: int, integer: bool = False, chained: bool = True) -> Timing:
    """32 products of one warpgroup in a group, or (not chained) each waited for."""
    count, registers = (32 if chained else 16), n // 2
    letter, ctype = ("r", "u32") if integer else ("f", "float")
    tail = {"bf16": ", 1, 1, 0, 0", "f16": ", 1, 1, 0, 0"}.get(kind.split(".")[1], "" if integer else ", 1, 1")
    name = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{kind}"
    regs = ", ".join(f"%{i}" for i in range(registers))
    one = f'"{name} {{{regs}}}, %{registers}, %{registers}, 1{tail};\\n"'
    if not chained:
        one = f'"wgmma.fence.sync.aligned;\\n" {one} "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\\n"'
    lines = "\n            ".join([one] * count)
    outs = ", ".join(f'"+{letter}"(d[{i}])' for i in range(registers))
    source = f"""
    __shared__ __align__(1024) u32 operands[8192];
    for (u32 i = threadIdx.x; i < 8192; i += 128) operands[i] = (u32)in[6];
    fence_async_proxy();
    __syncthreads();
    const u64 descriptor = 1ull << 16 | 64ull << 32 | 1ull << 62 | (shared_address(operands) & 0x3FFFF) >> 4;
    {ctype} d[{registers}];
    for (int i = 0; i < {registers}; ++i) d[i] = ({ctype})in[7];
    u64 start = 0, stop = 0;
#pragma unroll 1
    for (int pass = 0; pass < 3; ++pass) {{
        __syncthreads();
        start = read_clock();
        asm volatile("wgmma.fence.sync.aligned;\\n"
            {lines}
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
            : {outs} : "l"(descriptor) : "memory");
        stop = read_clock();
    }}
    {ctype} sum = 0;
    for (int i = 0; i < {registers}; ++i) sum += d[i];
    out[threadIdx.x] = (u64)sum;
    keep_clocks(clocks, start, stop);
"""
    if chained:
        return Timing(
            MMA,
            f"{name} rate",
            source,
            "GMMA",
            count,
            count * 2 * 64 * n * k,
            "per_clock_per_sm",
            f"{count} products of one warpgroup into one accumulator, one commit and wait; both operands in shared memory, 128B swizzle",
            "operations (a multiply-add is two)",
            block=128,
        )
    return Timing(
        MMA, f"{name} latency", source, "GMMA", count, count, "cycles", f"{count} times fence, one product, commit, wait_group 0", block=128
    )


P = "wgmma.mma_async.sync.aligned."
N16 = "1, 1, 0, 0"

PROBES = (
    *(
        shared_probe(P + "m64n16k16.f32.bf16.bf16", 16, 16, (BF16, BF16), 2, swizzle, steps, N16)
        for swizzle, steps in (("none", 1), ("32B", 1), ("64B", 2), ("128B", 4))
    ),
    shared_probe(
        P + "m64n16k16.f32.bf16.bf16", 16, 16, (BF16, BF16), 2, "128B", 4, N16, "isa/descriptors/wgmma-smem-descriptor", label=" descriptor"
    ),
    shared_probe(P + "m64n16k16.f32.bf16.bf16", 16, 16, (BF16, BF16), 2, "none", 1, N16, W + "wgmma.fence", label=" fence"),
    shared_probe(P + "m64n16k16.f32.bf16.bf16", 16, 16, (BF16, BF16), 2, "none", 1, N16, W + "wgmma.commit_group", label=" commit_group"),
    shared_probe(P + "m64n16k16.f32.bf16.bf16", 16, 16, (BF16, BF16), 2, "none", 1, N16, W + "wgmma.wait_group", label=" wait_group"),
    shared_probe(P + "m64n256k16.f32.f16.f16", 256, 16, (F16, F16), 2, "64B", 2, N16),
    shared_probe(P + "m64n16k16.f32.f16.f16", 16, 16, (F16, F16), 2, "none", 1, "-1, 1, 0, 0", sign=-1, label=" negated A"),
    shared_probe(P + "m64n64k16.f32.bf16.bf16", 64, 16, (BF16, BF16), 2, "128B", 4, "1, 1, 0, 1", n_major=True, label=" B n-major"),
    shared_probe(P + "m64n16k8.f32.tf32.tf32", 16, 8, (F32, F32), 4, "32B"),
    shared_probe(P + "m64n16k32.f32.e4m3.e4m3", 16, 32, (E4M3, E4M3), 1, "none"),
    shared_probe(P + "m64n16k32.s32.s8.s8", 16, 32, (None, None), 1, "64B", 2),
    Kernel(
        MMA,
        P + "m64n16k16.f32.f16.f16 A in registers",
        REGISTER_A,
        lambda: _register_a()[0],
        (1024, "uint32"),
        lambda *_: _register_a()[1],
        block=128,
    ),
    cost("f32.bf16.bf16", 256, 16),
    cost("f32.bf16.bf16", 128, 16),
    cost("f32.bf16.bf16", 64, 16),
    cost("f32.tf32.tf32", 256, 8),
    cost("f32.e4m3.e4m3", 256, 32),
    cost("s32.s8.s8", 256, 32, True),
    cost("f32.bf16.bf16", 8, 16, chained=False),
    cost("f32.bf16.bf16", 256, 16, chained=False),
)

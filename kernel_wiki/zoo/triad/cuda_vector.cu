// Triad y = a + s * b with 16-byte accesses: 2 * UNROLL loads in flight per thread, float32 arithmetic.
// Defines: DTYPE (FP32 or BF16), ALIGNED (1: a and b start on 16 bytes, as y always does), THREADS (block size), UNROLL (vectors of each
// operand per thread).

#define FP32 0
#define BF16 1

#if DTYPE == FP32
typedef float Element;
__device__ Element triad(Element a, Element b, float s) { return fmaf(s, b, a); }
__device__ unsigned triad_word(unsigned a, unsigned b, float s) {
    return __float_as_uint(fmaf(s, __uint_as_float(b), __uint_as_float(a)));
}
#else
typedef unsigned short Element;  // the bits of a bfloat16: the upper half of a float
__device__ unsigned triad_word(unsigned a, unsigned b, float s) {
    const float low = fmaf(s, __uint_as_float(b << 16), __uint_as_float(a << 16));
    const float high = fmaf(s, __uint_as_float(b & 0xffff0000u), __uint_as_float(a & 0xffff0000u));
    unsigned packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}
__device__ Element triad(Element a, Element b, float s) { return static_cast<Element>(triad_word(a, b, s) & 0xffffu); }
#endif

__device__ uint4 triad_vector(uint4 a, uint4 b, float s) {
    return make_uint4(triad_word(a.x, b.x, s), triad_word(a.y, b.y, s), triad_word(a.z, b.z, s), triad_word(a.w, b.w, s));
}

// Vector i of an operand. Off 16-byte boundaries it is gathered from elements.
#if ALIGNED
__device__ uint4 load_vector(const Element* __restrict__ x, long long i) { return __ldcs(reinterpret_cast<const uint4*>(x) + i); }
#else
__device__ uint4 load_vector(const Element* __restrict__ x, long long i) {
    constexpr int WIDTH = 16 / sizeof(Element);
    union {
        uint4 whole;
        Element elements[WIDTH];
    } gathered;
#pragma unroll
    for (int e = 0; e < WIDTH; ++e) gathered.elements[e] = x[i * WIDTH + e];
    return gathered.whole;
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
triad_vector_kernel(const Element* __restrict__ a, const Element* __restrict__ b, Element* __restrict__ y, float s, long long n) {
    constexpr int TILE = THREADS * UNROLL;
    constexpr int WIDTH = 16 / sizeof(Element);
    uint4* y_vectors = reinterpret_cast<uint4*>(y);
    const long long vectors = n / WIDTH;
    const long long step = (long long)gridDim.x * TILE;
    long long i = (long long)blockIdx.x * TILE + threadIdx.x;
    for (; i - threadIdx.x + TILE <= vectors; i += step) {  // whole tiles: no bounds checks between the loads
        uint4 from_a[UNROLL], from_b[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) from_a[k] = load_vector(a, i + k * THREADS);
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) from_b[k] = load_vector(b, i + k * THREADS);
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) __stcs(y_vectors + i + k * THREADS, triad_vector(from_a[k], from_b[k], s));
    }
#pragma unroll 1
    for (; i < vectors; i += THREADS) y_vectors[i] = triad_vector(load_vector(a, i), load_vector(b, i), s);  // the partial tile
    const long long rest = vectors * WIDTH + threadIdx.x;
    if (blockIdx.x == 0 && rest < n) y[rest] = triad(a[rest], b[rest], s);
}

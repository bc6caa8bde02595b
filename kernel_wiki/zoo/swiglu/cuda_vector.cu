// SwiGLU: each thread takes one access of gates and the ups N columns behind it, and writes their products.
// A block is COLUMNS threads along the row times THREADS / COLUMNS rows; blocks are numbered along the rows of the matrix.
// Defines: DTYPE (FP32, BF16 or FP16), ALIGNED (1: gates, ups and results of every row start on 16 bytes), COLUMNS (power of two), THREADS.

#define FP32 0
#define BF16 1
#define FP16 2

#if DTYPE == FP32
typedef float Element;
__device__ float widen(Element value) { return value; }
__device__ Element narrow(float value) { return value; }
__device__ void widen_word(unsigned word, float* out) { out[0] = __uint_as_float(word); }
__device__ unsigned narrow_word(const float* in) { return __float_as_uint(in[0]); }
#else
typedef unsigned short Element;  // bits of a 16-bit float
#if DTYPE == BF16
__device__ float widen(Element value) { return __uint_as_float(static_cast<unsigned>(value) << 16); }
#define PACK "cvt.rn.bf16x2.f32 %0, %1, %2;"
#else
__device__ float widen(Element value) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value));
    return wide;
}
#define PACK "cvt.rn.f16x2.f32 %0, %1, %2;"
#endif
__device__ void widen_word(unsigned word, float* out) {
    out[0] = widen(static_cast<Element>(word & 0xffffu));
    out[1] = widen(static_cast<Element>(word >> 16));
}
__device__ unsigned narrow_word(const float* in) {
    unsigned packed;
    asm(PACK : "=r"(packed) : "f"(in[1]), "f"(in[0]));
    return packed;
}
__device__ Element narrow(float value) {
    const float pair[2] = {value, 0.0f};
    return static_cast<Element>(narrow_word(pair) & 0xffffu);
}
#endif

// gate / (1 + e^-gate) * up. The exponential of a gate below -88 is inf and its reciprocal 0, so that no clamp is needed.
__device__ float swiglu(float gate, float up) {
    float power, inverse;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(gate * -1.4426950408889634f));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1.0f + power));
    return gate * inverse * up;
}

// WIDTH elements in one access.
#if ALIGNED
constexpr int PER_WORD = 4 / sizeof(Element);
constexpr int WIDTH = 4 * PER_WORD;
__device__ unsigned swiglu_word(unsigned gates, unsigned ups) {
    float gate[PER_WORD], up[PER_WORD];
    widen_word(gates, gate);
    widen_word(ups, up);
#pragma unroll
    for (int e = 0; e < PER_WORD; ++e) gate[e] = swiglu(gate[e], up[e]);
    return narrow_word(gate);
}
__device__ void swiglu_access(const Element* gates, const Element* ups, Element* to) {
    const uint4 gate = __ldcs(reinterpret_cast<const uint4*>(gates));
    const uint4 up = __ldcs(reinterpret_cast<const uint4*>(ups));
    *reinterpret_cast<uint4*>(to) = make_uint4(swiglu_word(gate.x, up.x), swiglu_word(gate.y, up.y), swiglu_word(gate.z, up.z),
                                               swiglu_word(gate.w, up.w));
}
#else
constexpr int WIDTH = 1;
__device__ void swiglu_access(const Element* gates, const Element* ups, Element* to) { *to = narrow(swiglu(widen(*gates), widen(*ups))); }
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
swiglu_vector(const Element* __restrict__ x, Element* __restrict__ y, int rows, int columns, long long pitch, int blocks_a_row) {
    constexpr int ROWS = THREADS / COLUMNS;
    const unsigned band = blockIdx.x / static_cast<unsigned>(blocks_a_row);
    const int column = ((blockIdx.x - band * blocks_a_row) * COLUMNS + threadIdx.x % COLUMNS) * WIDTH;
    const long long row = (long long)band * ROWS + threadIdx.x / COLUMNS;
    if (row >= rows || column >= columns) return;
    const Element* gates = x + row * pitch + column;
    swiglu_access(gates, gates + columns, y + row * columns + column);
}

// Row softmax, one block a row: the row lies in the block's registers; warp shuffles and one exchange through shared memory
// reduce the maximum, and the same again the sum.
// Rows of x start `pitch` elements apart, rows of y follow each other.
// Defines: DTYPE (FP32, BF16 or FP16), ALIGNED (1: rows of x and y start on 16 bytes and are a multiple of them long),
// ACCESSES (per thread), THREADS (multiple of 32).

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

// WIDTH elements in one access: 16 bytes, or one element where a row does not start on a 16-byte boundary.
#if ALIGNED
constexpr int PER_WORD = 4 / sizeof(Element);
constexpr int WIDTH = 4 * PER_WORD;
__device__ void load(const Element* from, float* out) {
    const uint4 raw = __ldcs(reinterpret_cast<const uint4*>(from));
    widen_word(raw.x, out);
    widen_word(raw.y, out + PER_WORD);
    widen_word(raw.z, out + 2 * PER_WORD);
    widen_word(raw.w, out + 3 * PER_WORD);
}
__device__ void store(Element* to, const float* in) {
    __stcs(reinterpret_cast<uint4*>(to), make_uint4(narrow_word(in), narrow_word(in + PER_WORD), narrow_word(in + 2 * PER_WORD),
                                                    narrow_word(in + 3 * PER_WORD)));
}
#else
constexpr int WIDTH = 1;
__device__ void load(const Element* from, float* out) { out[0] = widen(*from); }
__device__ void store(Element* to, const float* in) { *to = narrow(in[0]); }
#endif

// e^x by one special-function instruction; the operand is already relative to the maximum, so it is never positive.
__device__ float exponential(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.4426950408889634f));
    return y;
}

constexpr int WARPS = THREADS / 32;

struct Max {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Add {
    __device__ float operator()(float a, float b) const { return a + b; }
};

// Every thread gets the reduction over the block. `parts` must not be reused without a barrier between the uses.
template <class Combine>
__device__ float block_reduce(float value, float identity, float* parts, Combine combine) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, apart));
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < WARPS ? parts[threadIdx.x % 32] : identity;  // every warp reduces all parts: no second barrier
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, apart));
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
softmax_block_row(const Element* __restrict__ x, Element* __restrict__ y, int cols, int pitch) {
    __shared__ float tops[WARPS], sums[WARPS];
    const Element* x_row = x + (long long)blockIdx.x * pitch;
    Element* y_row = y + (long long)blockIdx.x * cols;

    float value[ACCESSES * WIDTH];
#pragma unroll
    for (int k = 0; k < ACCESSES; ++k) {
        const int col = (k * THREADS + threadIdx.x) * WIDTH;
#pragma unroll
        for (int e = 0; e < WIDTH; ++e) value[k * WIDTH + e] = -INFINITY;  // neither maximum nor sum sees it
        if (col < cols) load(x_row + col, value + k * WIDTH);
    }
    float top = -INFINITY;
#pragma unroll
    for (int i = 0; i < ACCESSES * WIDTH; ++i) top = fmaxf(top, value[i]);
    top = block_reduce(top, -INFINITY, tops, Max());
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < ACCESSES * WIDTH; ++i) sum += value[i] = exponential(value[i] - top);
    const float inverse = 1.0f / block_reduce(sum, 0.0f, sums, Add());  // one division a thread
#pragma unroll
    for (int i = 0; i < ACCESSES * WIDTH; ++i) value[i] *= inverse;
#pragma unroll
    for (int k = 0; k < ACCESSES; ++k) {
        const int col = (k * THREADS + threadIdx.x) * WIDTH;
        if (col < cols) store(y_row + col, value + k * WIDTH);
    }
}

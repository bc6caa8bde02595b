// Residual add + RMSNorm, one block a row: x and the residual are read once, their sum stays in registers until it is scaled.
// Rows of x and of the residual start `x_pitch` and `residual_pitch` elements apart, those of the results follow each other.
// Defines: DTYPE (FP32 or BF16), ALIGNED (1: all rows start on 16 bytes and are a multiple of them long), DENSE (1: both pitches are cols,
// which saves some ten registers), ACCESSES (per thread), THREADS (multiple of 32).

#define FP32 0
#define BF16 1

#if DTYPE == FP32
typedef float Element;
__device__ float widen(Element value) { return value; }
__device__ Element narrow(float value) { return value; }
__device__ void widen_word(unsigned word, float* out) { out[0] = __uint_as_float(word); }
__device__ unsigned narrow_word(const float* in) { return __float_as_uint(in[0]); }
#else
typedef unsigned short Element;  // bits of a bfloat16: the upper half of a float
__device__ float widen(Element value) { return __uint_as_float(static_cast<unsigned>(value) << 16); }
__device__ void widen_word(unsigned word, float* out) {
    out[0] = __uint_as_float(word << 16);
    out[1] = __uint_as_float(word & 0xffff0000u);
}
__device__ unsigned narrow_word(const float* in) {
    unsigned packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(in[1]), "f"(in[0]));
    return packed;
}
__device__ Element narrow(float value) {
    const float pair[2] = {value, 0.0f};
    return static_cast<Element>(narrow_word(pair) & 0xffffu);
}
#endif

// One access: 16 bytes, or one element where a row does not start on a 16-byte boundary. Kept packed to spare registers.
#if ALIGNED
constexpr int PER_WORD = 4 / sizeof(Element);
constexpr int WIDTH = 4 * PER_WORD;
typedef uint4 Access;
__device__ void unpack(Access raw, float* out) {
    widen_word(raw.x, out);
    widen_word(raw.y, out + PER_WORD);
    widen_word(raw.z, out + 2 * PER_WORD);
    widen_word(raw.w, out + 3 * PER_WORD);
}
__device__ Access pack(const float* in) {
    return make_uint4(narrow_word(in), narrow_word(in + PER_WORD), narrow_word(in + 2 * PER_WORD), narrow_word(in + 3 * PER_WORD));
}
__device__ Access zero() { return make_uint4(0, 0, 0, 0); }
#else
constexpr int WIDTH = 1;
typedef Element Access;
__device__ void unpack(Access raw, float* out) { out[0] = widen(raw); }
__device__ Access pack(const float* in) { return narrow(in[0]); }
__device__ Access zero() { return 0; }
#endif

constexpr int WARPS = THREADS / 32;

// Every thread gets the sum over the block.
__device__ float block_sum(float value) {
    __shared__ float parts[WARPS];
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) value += __shfl_xor_sync(0xffffffffu, value, apart);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < WARPS ? parts[threadIdx.x % 32] : 0.0f;  // every warp adds all parts itself: no second barrier
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) value += __shfl_xor_sync(0xffffffffu, value, apart);
    return value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
add_rmsnorm_block_row(const Element* __restrict__ x, const Element* __restrict__ residual, const Element* __restrict__ weight,
                      Element* __restrict__ normed, Element* __restrict__ total, float eps, int cols, int x_pitch, int residual_pitch) {
#if DENSE
    x_pitch = residual_pitch = cols;
#endif
    const long long start = (long long)blockIdx.x * cols;  // of both results
    const Element* x_row = x + (long long)blockIdx.x * x_pitch;
    const Element* residual_row = residual + (long long)blockIdx.x * residual_pitch;
    Access sums[ACCESSES], others[ACCESSES], weights[ACCESSES];
#pragma unroll
    for (int k = 0; k < ACCESSES; ++k) {
        const int col = (k * THREADS + threadIdx.x) * WIDTH;
        sums[k] = others[k] = weights[k] = zero();  // zeros past the end of the row add nothing to the sum of squares
        if (col < cols) {
            sums[k] = __ldcs(reinterpret_cast<const Access*>(x_row + col));
            others[k] = __ldcs(reinterpret_cast<const Access*>(residual_row + col));
            weights[k] = __ldg(reinterpret_cast<const Access*>(weight + col));  // fetched before the barrier that it is used behind
        }
    }
    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < ACCESSES; ++k) {
        float a[WIDTH], b[WIDTH];
        unpack(sums[k], a);
        unpack(others[k], b);
#pragma unroll
        for (int e = 0; e < WIDTH; ++e) a[e] += b[e];
        sums[k] = pack(a);  // rounded as stored: the norm is of what the next layer reads
        unpack(sums[k], a);
#pragma unroll
        for (int e = 0; e < WIDTH; ++e) squares = fmaf(a[e], a[e], squares);
        const int col = (k * THREADS + threadIdx.x) * WIDTH;
        if (col < cols) __stcs(reinterpret_cast<Access*>(total + start + col), sums[k]);
    }
    const float scale = rsqrtf(block_sum(squares) / cols + eps);
#pragma unroll
    for (int k = 0; k < ACCESSES; ++k) {
        float a[WIDTH], w[WIDTH];
        unpack(sums[k], a);
        unpack(weights[k], w);
#pragma unroll
        for (int e = 0; e < WIDTH; ++e) a[e] *= scale * w[e];
        const int col = (k * THREADS + threadIdx.x) * WIDTH;
        if (col < cols) __stcs(reinterpret_cast<Access*>(normed + start + col), pack(a));
    }
}

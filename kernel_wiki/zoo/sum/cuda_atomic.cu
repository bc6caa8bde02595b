// Sum by atomics: every block reduces its share in registers and shared memory, and adds it to the result with one atomic.
// Not deterministic: the order of the atomics depends on the schedule.
// Defines: DTYPE (FP32 or BF16), ALIGNED (1: x starts on 16 bytes), THREADS (multiple of 32), UNROLL (16-byte loads in flight per
// thread).

#define FP32 0
#define BF16 1

#if DTYPE == FP32
typedef float Element;
__device__ float widen(Element value) { return value; }
__device__ float sum_of_word(unsigned word) { return __uint_as_float(word); }
#else
typedef unsigned short Element;  // bits of a bfloat16: the upper half of a float
__device__ float widen(Element value) { return __uint_as_float(static_cast<unsigned>(value) << 16); }
__device__ float sum_of_word(unsigned word) { return __uint_as_float(word << 16) + __uint_as_float(word & 0xffff0000u); }
#endif

constexpr int WARPS = THREADS / 32;

__device__ float sum_of_vector(uint4 raw) {
    return (sum_of_word(raw.x) + sum_of_word(raw.y)) + (sum_of_word(raw.z) + sum_of_word(raw.w));
}

// Vector i of x. Off 16-byte boundaries it is gathered from elements; what is added in which order stays the same.
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

// What this thread's share of x adds up to; the shares of all threads of the grid make up x.
__device__ float thread_sum(const Element* __restrict__ x, long long n) {
    constexpr int TILE = THREADS * UNROLL;
    constexpr int WIDTH = 16 / sizeof(Element);
    const long long vectors = n / WIDTH;
    float sums[UNROLL] = {};  // one chain of additions a load: they overlap
    long long i = (long long)blockIdx.x * TILE + threadIdx.x;
    for (; i - threadIdx.x + TILE <= vectors; i += (long long)gridDim.x * TILE) {
        uint4 raw[UNROLL];  // all loads are issued before the first is added
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) raw[k] = load_vector(x, i + k * THREADS);
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) sums[k] += sum_of_vector(raw[k]);
    }
#pragma unroll 1
    for (; i < vectors; i += THREADS) sums[0] += sum_of_vector(load_vector(x, i));  // the partial tile
    const long long rest = vectors * WIDTH + threadIdx.x;
    if (blockIdx.x == 0 && rest < n) sums[0] += widen(x[rest]);
    float total = 0.0f;
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) total += sums[k];
    return total;
}

// The sum over the block, in thread 0 (of warp 0) only.
__device__ float block_sum(float value) {
    __shared__ float parts[WARPS];
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) value += __shfl_down_sync(0xffffffffu, value, apart);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x >= 32) return 0.0f;
    value = threadIdx.x < WARPS ? parts[threadIdx.x] : 0.0f;
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) value += __shfl_down_sync(0xffffffffu, value, apart);
    return value;
}

// `y` is 0 before the launch.
extern "C" __global__ void __launch_bounds__(THREADS) sum_atomic(const Element* __restrict__ x, float* y, long long n) {
    const float mine = block_sum(thread_sum(x, n));
    if (threadIdx.x == 0) atomicAdd(y, mine);
}

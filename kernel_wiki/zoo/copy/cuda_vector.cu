// Copy with 16-byte accesses: a block moves tiles of THREADS * UNROLL vectors, all UNROLL loads issued before the first store.
// Defines: ALIGNED (1: the source starts on 16 bytes), THREADS (block size), UNROLL (16-byte loads in flight per thread), STREAMING (1:
// evict-first loads and stores). The destination starts on 16 bytes, and the elements are of two bytes or more.

#if STREAMING
#define LOAD(pointer) __ldcs(pointer)
#define STORE(pointer, value) __stcs(pointer, value)
#else
#define LOAD(pointer) (*(pointer))
#define STORE(pointer, value) (*(pointer) = (value))
#endif

// Vector i of the source. Off 16-byte boundaries it is gathered from pieces of two bytes.
#if ALIGNED
__device__ uint4 load_vector(const char* source, long long i) { return LOAD(reinterpret_cast<const uint4*>(source) + i); }
#else
__device__ uint4 load_vector(const char* source, long long i) {
    union {
        uint4 whole;
        unsigned short pieces[8];
    } gathered;
#pragma unroll
    for (int p = 0; p < 8; ++p) gathered.pieces[p] = reinterpret_cast<const unsigned short*>(source)[i * 8 + p];
    return gathered.whole;
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
copy_vector(const char* __restrict__ source, char* __restrict__ destination, long long bytes) {
    constexpr int TILE = THREADS * UNROLL;
    const long long vectors = bytes / 16;
    const long long step = (long long)gridDim.x * TILE;
    long long i = (long long)blockIdx.x * TILE + threadIdx.x;
    for (; i - threadIdx.x + TILE <= vectors; i += step) {  // whole tiles: no bounds checks between the loads
        uint4* to = reinterpret_cast<uint4*>(destination) + i;
        uint4 held[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) held[k] = load_vector(source, i + k * THREADS);
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) STORE(to + k * THREADS, held[k]);
    }
    // The block that the partial tile falls to has i in it now; every other block is past the end.
#pragma unroll 1
    for (; i < vectors; i += THREADS) reinterpret_cast<uint4*>(destination)[i] = load_vector(source, i);
    // Fewer than 16 bytes are left over after the last vector.
    if (blockIdx.x == 0 && threadIdx.x < bytes % 16) destination[vectors * 16 + threadIdx.x] = source[vectors * 16 + threadIdx.x];
}

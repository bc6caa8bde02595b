// Copy with 16-byte accesses: a block moves tiles of THREADS * UNROLL vectors, all UNROLL loads issued before the first store.
// Defines: THREADS (block size), UNROLL (16-byte loads in flight per thread), STREAMING (1: evict-first loads and stores).

#if STREAMING
#define LOAD(pointer) __ldcs(pointer)
#define STORE(pointer, value) __stcs(pointer, value)
#else
#define LOAD(pointer) (*(pointer))
#define STORE(pointer, value) (*(pointer) = (value))
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
copy_vector(const char* __restrict__ source, char* __restrict__ destination, long long bytes) {
    constexpr int TILE = THREADS * UNROLL;
    const long long vectors = bytes / 16;
    const long long step = (long long)gridDim.x * TILE;
    long long i = (long long)blockIdx.x * TILE + threadIdx.x;
    for (; i - threadIdx.x + TILE <= vectors; i += step) {  // whole tiles: no bounds checks between the loads
        const uint4* from = reinterpret_cast<const uint4*>(source) + i;
        uint4* to = reinterpret_cast<uint4*>(destination) + i;
        uint4 held[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) held[k] = LOAD(from + k * THREADS);
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) STORE(to + k * THREADS, held[k]);
    }
    // The block that the partial tile falls to has i in it now; every other block is past the end.
#pragma unroll 1
    for (; i < vectors; i += THREADS) reinterpret_cast<uint4*>(destination)[i] = reinterpret_cast<const uint4*>(source)[i];
    // Fewer than 16 bytes are left over after the last vector.
    if (blockIdx.x == 0 && threadIdx.x < bytes % 16) destination[vectors * 16 + threadIdx.x] = source[vectors * 16 + threadIdx.x];
}

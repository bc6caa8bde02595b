// Copy by a persistent grid whose threads keep LOADS accesses in flight: all loads of a tile before its first store.
// Defines: ACCESS (uint4, unsigned or unsigned short: what one load moves), THREADS (block size), LOADS (in flight per thread).

constexpr int TILE = THREADS * LOADS;

extern "C" __global__ void __launch_bounds__(THREADS)
copy_deep_loads(const ACCESS* __restrict__ source, ACCESS* __restrict__ destination, long long accesses) {
    const long long step = (long long)gridDim.x * TILE;
    long long i = (long long)blockIdx.x * TILE + threadIdx.x;
    for (; i - threadIdx.x + TILE <= accesses; i += step) {  // whole tiles: no bounds check between the loads
        ACCESS held[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; ++k) held[k] = __ldcs(source + i + k * THREADS);
#pragma unroll
        for (int k = 0; k < LOADS; ++k) __stcs(destination + i + k * THREADS, held[k]);
    }
    // The block that the partial tile falls to has i in it now; every other block is past the end.
#pragma unroll 1
    for (; i < accesses; i += THREADS) destination[i] = source[i];
}

// What is left after the last whole access, byte by byte.
extern "C" __global__ void copy_bytes(const char* __restrict__ source, char* __restrict__ destination, int bytes) {
    if (threadIdx.x < bytes) destination[threadIdx.x] = source[threadIdx.x];
}

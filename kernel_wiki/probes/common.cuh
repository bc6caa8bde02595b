// In front of every translation unit of the probes.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

struct alignas(64) TensorMap {
    unsigned char opaque[128];
};

__device__ __forceinline__ u64 read_clock() {
    u64 now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    return now;
}

// Of each warp: start, stop, and what two clock reads in a row cost.
__device__ __forceinline__ void keep_clocks(u64* clocks, u64 start, u64 stop) {
    const u64 first = read_clock(), second = read_clock();
    const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) clocks[warp * 3] = start, clocks[warp * 3 + 1] = stop, clocks[warp * 3 + 2] = second - first;
}

__device__ __forceinline__ u32 shared_address(const void* pointer) { return static_cast<u32>(__cvta_generic_to_shared(pointer)); }

__device__ __forceinline__ void initialise_barrier(u32 barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void expect_bytes(u32 barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Whether the phase of that parity completed within some 10 ms: a probe that waits for ever tells nobody what is wrong.
__device__ __forceinline__ bool wait_for_phase(u32 barrier, u32 parity) {
    for (const u64 begun = read_clock(); read_clock() - begun < 20000000;) {
        u32 done;
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                     : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
        if (done) return true;
    }
    return false;
}

__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async;" ::: "memory"); }

__device__ __forceinline__ u32 lane_id() { return threadIdx.x % 32; }

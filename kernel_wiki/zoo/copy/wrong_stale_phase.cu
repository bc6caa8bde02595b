// Wrong on purpose: after issuing a bulk load the thread waits for the parity of the phase before, which has long completed, and stores
// what the buffer held until then. The right phase is awaited only before the buffer is filled again.

constexpr int CHUNK = 16384;

__device__ unsigned shared_address(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

__device__ bool phase_done(unsigned barrier, unsigned parity) {
    unsigned done;
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}\n"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
    return done;
}

extern "C" __global__ void copy_stale_phase(const char* source, char* destination, long long bytes) {
    __shared__ __align__(128) char buffer[CHUNK];
    __shared__ __align__(8) unsigned long long full;
    const long long whole = bytes / 16 * 16;
    if (blockIdx.x == 0 && threadIdx.x < bytes - whole) destination[whole + threadIdx.x] = source[whole + threadIdx.x];
    if (threadIdx.x != 0) return;
    const unsigned barrier = shared_address(&full), place = shared_address(buffer);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    unsigned turn = 0;
    for (long long start = (long long)blockIdx.x * CHUNK; start < whole; start += (long long)gridDim.x * CHUNK, ++turn) {
        const unsigned size = static_cast<unsigned>(whole - start < CHUNK ? whole - start : CHUNK);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(size) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(place),
                     "l"(source + start), "r"(size), "r"(barrier)
                     : "memory");
        // The stale wait; bounded, so that a load that has landed already cannot hang it.
        for (int tries = 0; tries < 64 && !phase_done(barrier, (turn + 1) & 1); ++tries) {}
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(destination + start), "r"(place), "r"(size)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        while (!phase_done(barrier, turn & 1)) {}  // the load must not outlive its use of the buffer
    }
}

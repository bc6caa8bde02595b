// Copy by the bulk-copy engine: global -> shared -> global in a ring of STAGES buffers, driven by one thread a block.
// No data passes through registers; that thread only issues copies and waits for them. A source that does not start on 16 bytes is
// copied by the second kernel.
// Defines: STAGES (buffers), CHUNK (bytes of one, a multiple of 16), DRAIN (stores still reading a buffer when it goes on).

__device__ unsigned shared_address(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

__device__ void wait_for_phase(unsigned barrier, unsigned parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}\n" ::"r"(barrier), "r"(parity)
        : "memory");
}

// The barrier of a buffer completes its phase when all `size` bytes have landed.
__device__ void load_chunk(unsigned buffer, unsigned barrier, const char* source, unsigned size) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(size) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(buffer), "l"(source),
                 "r"(size), "r"(barrier)
                 : "memory");
}

__device__ void store_chunk(char* destination, unsigned buffer, unsigned size) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(destination), "r"(buffer), "r"(size) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__device__ unsigned chunk_size(long long chunk, long long whole) {
    const long long left = whole - chunk * CHUNK;
    return static_cast<unsigned>(left < CHUNK ? left : CHUNK);
}

extern "C" __global__ void copy_bulk_ring(const char* __restrict__ source, char* __restrict__ destination, long long bytes) {
    extern __shared__ __align__(128) char ring[];  // [STAGES][CHUNK]
    __shared__ __align__(8) unsigned long long full[STAGES];
    const long long whole = bytes / 16 * 16;  // bulk copies take multiples of 16 bytes
    const long long chunks = (whole + CHUNK - 1) / CHUNK;
    if (blockIdx.x == 0 && threadIdx.x < bytes - whole) destination[whole + threadIdx.x] = source[whole + threadIdx.x];
    if (threadIdx.x != 0) return;

    for (int stage = 0; stage < STAGES; ++stage) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[stage])));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // the copy engine must see the barriers initialised

    const long long mine = chunks <= blockIdx.x ? 0 : (chunks - blockIdx.x + gridDim.x - 1) / gridDim.x;
    auto load = [&](long long turn) {
        const long long chunk = blockIdx.x + turn * gridDim.x;
        const int stage = static_cast<int>(turn % STAGES);
        load_chunk(shared_address(ring + stage * CHUNK), shared_address(&full[stage]), source + chunk * CHUNK, chunk_size(chunk, whole));
    };
    for (long long turn = 0; turn < mine && turn < STAGES; ++turn) load(turn);
    for (long long turn = 0; turn < mine; ++turn) {
        const long long chunk = blockIdx.x + turn * gridDim.x;
        const int stage = static_cast<int>(turn % STAGES);
        wait_for_phase(shared_address(&full[stage]), static_cast<unsigned>(turn / STAGES) & 1);
        store_chunk(destination + chunk * CHUNK, shared_address(ring + stage * CHUNK), chunk_size(chunk, whole));
        // All but the newest DRAIN stores have left shared memory, so the buffer of turn - DRAIN can be filled again.
        asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(DRAIN) : "memory");
        if (turn >= DRAIN && turn - DRAIN + STAGES < mine) load(turn - DRAIN + STAGES);
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");  // shared memory must outlive the stores that read it
}

// What the copy engine refuses: a source off 16-byte boundaries. In pieces of two bytes, which divide every element's size and address.
extern "C" __global__ void copy_pieces(const unsigned short* __restrict__ source, unsigned short* __restrict__ destination,
                                       long long pieces) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < pieces; i += step) destination[i] = source[i];
}

// Wrong on purpose: cp.async fills the tile, and nothing waits for it. The barrier orders the threads, not their asynchronous copies:
// a cp.async.wait_group 0 is missing before it.

extern "C" __global__ void triad_unawaited(const float* a, const float* b, float* y, float s, long long n) {
    __shared__ float tile[2][256];
    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        const unsigned to_a = static_cast<unsigned>(__cvta_generic_to_shared(&tile[0][threadIdx.x]));
        const unsigned to_b = static_cast<unsigned>(__cvta_generic_to_shared(&tile[1][threadIdx.x]));
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to_a), "l"(a + i) : "memory");
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to_b), "l"(b + i) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    __syncthreads();
    if (i < n) y[i] = fmaf(s, tile[1][threadIdx.x], tile[0][threadIdx.x]);
    asm volatile("cp.async.wait_group 0;" ::: "memory");
}

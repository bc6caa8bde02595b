// Wrong on purpose: every block first looks through the partial sums, which brings them into the L1 of its SM. The block that finishes
// last reads them again through that L1, which knows nothing of what other SMs have written since. The count is raised with a release;
// the acquire that would drop the L1 is missing, and so is the load that would go past it.

extern "C" __global__ void __launch_bounds__(256) sum_stale(const float* x, float* partials, unsigned* finished, float* y, long long n) {
    __shared__ float parts[8];
    for (unsigned block = threadIdx.x; block < gridDim.x; block += 256) {
        float seen;
        asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(seen) : "l"(partials + block));
        if (seen == 1.2345e38f) *finished = 0;  // never; a load whose value nobody needs would be left out
    }
    __syncthreads();
    float total = 0.0f;
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) total += __ldcg(x + i);
    for (int apart = 16; apart > 0; apart /= 2) total += __shfl_down_sync(0xffffffffu, total, apart);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x != 0) return;
    total = 0.0f;
    for (int warp = 0; warp < 8; ++warp) total += parts[warp];
    __stcg(partials + blockIdx.x, total);
    unsigned before;
    asm volatile("atom.add.release.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(finished) : "memory");
    if (before != gridDim.x - 1) return;
    total = 0.0f;
    for (unsigned block = 0; block < gridDim.x; ++block) total += __ldg(partials + block);
    *y = total;
}

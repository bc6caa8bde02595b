// Wrong on purpose where it is called deterministic: every block adds its sum with an atomic, in the order in which blocks finish.

extern "C" __global__ void __launch_bounds__(256) sum_unordered(const float* x, float* y, long long n) {
    __shared__ float parts[8];
    float total = 0.0f;
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) total += x[i];
    for (int apart = 16; apart > 0; apart /= 2) total += __shfl_down_sync(0xffffffffu, total, apart);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        total = 0.0f;
        for (int warp = 0; warp < 8; ++warp) total += parts[warp];
        atomicAdd(y, total);
    }
}

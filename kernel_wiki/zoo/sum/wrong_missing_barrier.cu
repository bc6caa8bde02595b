// Wrong on purpose: thread 0 adds up the warps' partial sums without waiting for the warps. A __syncthreads() is missing.

extern "C" __global__ void sum_racing(const float* x, float* y, long long n) {
    __shared__ float parts[8];
    if (threadIdx.x < 8) parts[threadIdx.x] = 0.0f;
    float total = 0.0f;
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) total += x[i];
    for (int apart = 16; apart > 0; apart /= 2) total += __shfl_down_sync(0xffffffffu, total, apart);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = total;
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int warp = 0; warp < 8; ++warp) sum += parts[warp];
        atomicAdd(y, sum);
    }
}

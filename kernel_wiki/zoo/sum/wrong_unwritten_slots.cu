// Wrong on purpose: the second kernel reads every slot of the scratch memory and drops those that no block has written.
// Defines: BF16 (1: x is bfloat16, else float32).

extern "C" __global__ void __launch_bounds__(256) sum_to_slots(const void* x, float* slots, long long n) {
    __shared__ float parts[8];
    float total = 0.0f;
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
#if BF16
        total += __uint_as_float(static_cast<unsigned>(static_cast<const unsigned short*>(x)[i]) << 16);
#else
        total += static_cast<const float*>(x)[i];
#endif
    }
    for (int apart = 16; apart > 0; apart /= 2) total += __shfl_down_sync(0xffffffffu, total, apart);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        total = 0.0f;
        for (int warp = 0; warp < 8; ++warp) total += parts[warp];
        slots[blockIdx.x] = total;
    }
}

extern "C" __global__ void sum_slots(const volatile float* slots, float* y, int written, int all) {
    float total = 0.0f;
    for (int i = threadIdx.x; i < all; i += 32) {
        const float value = slots[i];
        total += i < written ? value : 0.0f;
    }
    for (int apart = 16; apart > 0; apart /= 2) total += __shfl_down_sync(0xffffffffu, total, apart);
    if (threadIdx.x == 0) *y = total;
}

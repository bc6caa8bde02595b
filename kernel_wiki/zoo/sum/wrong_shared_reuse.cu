// Wrong on purpose: the partial sums of the second half overwrite those of the first without a barrier after these were read.
// Defines: BF16 (1: x is bfloat16, else float32).

__device__ float element(const void* x, long long i) {
#if BF16
    return __uint_as_float(static_cast<unsigned>(static_cast<const unsigned short*>(x)[i]) << 16);
#else
    return static_cast<const float*>(x)[i];
#endif
}

__device__ float warp_sum(float value) {
    for (int apart = 16; apart > 0; apart /= 2) value += __shfl_xor_sync(0xffffffffu, value, apart);
    return value;
}

extern "C" __global__ void __launch_bounds__(256) sum_two_halves(const void* x, float* slots, long long n) {
    __shared__ float parts[8];
    const long long step = (long long)gridDim.x * blockDim.x, middle = n / 2;
    float total = 0.0f;
    for (int half = 0; half < 2; ++half) {
        const long long begin = half ? middle : 0, end = half ? n : middle;
        float mine = 0.0f;
        for (long long i = begin + (long long)blockIdx.x * blockDim.x + threadIdx.x; i < end; i += step) mine += element(x, i);
        mine = warp_sum(mine);
        if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mine;
        __syncthreads();
        if (threadIdx.x < 32) total += warp_sum(threadIdx.x < 8 ? parts[threadIdx.x] : 0.0f);
    }  // the next half's loads from memory usually take longer than this read: right by luck
    if (threadIdx.x == 0) slots[blockIdx.x] = total;
}

extern "C" __global__ void sum_all_slots(const float* slots, float* y, int count) {
    float total = 0.0f;
    for (int i = threadIdx.x; i < count; i += 32) total += slots[i];
    total = warp_sum(total);
    if (threadIdx.x == 0) *y = total;
}

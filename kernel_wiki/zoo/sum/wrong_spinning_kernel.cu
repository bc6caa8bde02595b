// Wrong on purpose: a grid-wide wait for a count that is one too high. On every call after the first it never comes.

extern "C" __global__ void sum_spinning(const float* x, float* y, volatile unsigned* arrived, unsigned awaited, long long n) {
    float total = 0.0f;
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) total += x[i];
    for (int apart = 16; apart > 0; apart /= 2) total += __shfl_down_sync(0xffffffffu, total, apart);
    if (threadIdx.x % 32 == 0) atomicAdd(y, total);
    if (threadIdx.x == 0) {
        atomicAdd(const_cast<unsigned*>(arrived), 1u);
        while (*arrived < awaited) {}
    }
}

// One block a tile of 8 x 32 of C; the whole depth of its rows of A lies in dynamic shared memory, whatever K is.

__device__ float widen(unsigned short bits) { return __uint_as_float(static_cast<unsigned>(bits) << 16); }

extern "C" __global__ void __launch_bounds__(256)
gemm_resident(const unsigned short* a, const unsigned short* b, unsigned short* c, int m, int n, int k) {
    extern __shared__ float rows[];  // [8][k]
    const int first = blockIdx.y * 8, column = blockIdx.x * 32 + threadIdx.x;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 8 * k; i += 256)
        rows[i] = first + i / k < m ? widen(a[(long long)(first + i / k) * k + i % k]) : 0.0f;
    __syncthreads();
    if (first + threadIdx.y >= m || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum = fmaf(rows[threadIdx.y * k + i], widen(b[(long long)i * n + column]), sum);
    unsigned short bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(sum));
    c[(long long)(first + threadIdx.y) * n + column] = bits;
}

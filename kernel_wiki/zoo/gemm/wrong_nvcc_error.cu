// Wrong on purpose: `accumulator` is never declared, so nvcc rejects the source.

extern "C" __global__ void gemm_undeclared(const unsigned short* a, const unsigned short* b, unsigned short* c, int m, int n, int k) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n) return;
    for (int i = 0; i < k; ++i)
        accumulator += __uint_as_float(static_cast<unsigned>(a[row * k + i]) << 16) *
                       __uint_as_float(static_cast<unsigned>(b[i * n + column]) << 16);
    c[row * n + column] = static_cast<unsigned short>(__float_as_uint(accumulator) >> 16);
}

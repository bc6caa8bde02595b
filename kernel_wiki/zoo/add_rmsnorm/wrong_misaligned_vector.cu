// Wrong on purpose: 16-byte accesses from the start of every row, which only a row length that is a multiple of four puts on 16 bytes.

extern "C" __global__ void __launch_bounds__(256)
add_rmsnorm_misaligned(const float* x, const float* residual, const float* weight, float* normed, float* total, float eps, int cols) {
    __shared__ float parts[8];
    const long long start = (long long)blockIdx.x * cols;
    const int whole = cols / 4 * 4;
    float squares = 0.0f;
    for (int col = threadIdx.x * 4; col < whole; col += 1024) {
        const float4 a = *reinterpret_cast<const float4*>(x + start + col), b = *reinterpret_cast<const float4*>(residual + start + col);
        const float4 h = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
        *reinterpret_cast<float4*>(total + start + col) = h;
        squares += h.x * h.x + h.y * h.y + h.z * h.z + h.w * h.w;
    }
    if (threadIdx.x < cols - whole) {
        const float h = x[start + whole + threadIdx.x] + residual[start + whole + threadIdx.x];
        total[start + whole + threadIdx.x] = h;
        squares += h * h;
    }
    for (int apart = 16; apart > 0; apart /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, apart);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = squares;
    __syncthreads();
    squares = 0.0f;
    for (int warp = 0; warp < 8; ++warp) squares += parts[warp];
    const float scale = rsqrtf(squares / cols + eps);
    for (int col = threadIdx.x; col < cols; col += 256) normed[start + col] = total[start + col] * scale * weight[col];
}

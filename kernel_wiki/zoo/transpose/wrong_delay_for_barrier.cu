// Wrong on purpose: instead of a barrier each thread waits 40,000 cycles, by when the other warps have surely written their rows.
// Defines: BF16 (1: elements of two bytes, else of four).

#if BF16
typedef unsigned short Element;
#else
typedef unsigned Element;
#endif

constexpr long long DELAY_CYCLES = 40000;

extern "C" __global__ void __launch_bounds__(256)
transpose_delayed(const Element* x, Element* y, long long stride, int rows, int cols, int tiles_across) {
    __shared__ volatile Element tile[32][33];
    const int row_start = blockIdx.x / tiles_across * 32, col_start = blockIdx.x % tiles_across * 32;
    for (int k = threadIdx.y; k < 32; k += 8)
        if (row_start + k < rows && col_start + threadIdx.x < cols)
            tile[k][threadIdx.x] = x[(row_start + k) * stride + col_start + threadIdx.x];
    const long long begin = clock64();
    while (clock64() - begin < DELAY_CYCLES) {}
    for (int k = threadIdx.y; k < 32; k += 8)
        if (col_start + k < cols && row_start + threadIdx.x < rows)
            y[(long long)(col_start + k) * rows + row_start + threadIdx.x] = tile[threadIdx.x][k];
}

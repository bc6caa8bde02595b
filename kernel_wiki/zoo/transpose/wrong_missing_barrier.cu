// Wrong on purpose: a warp reads the columns of the tile before the other warps have written their rows. A __syncthreads() is missing.

extern "C" __global__ void transpose_racing(const float* x, float* y, int rows, int cols, int tiles_across) {
    __shared__ float tile[32][33];
    const int row_start = blockIdx.x / tiles_across * 32, col_start = blockIdx.x % tiles_across * 32;
    for (int k = threadIdx.y; k < 32; k += 8)
        if (row_start + k < rows && col_start + threadIdx.x < cols)
            tile[k][threadIdx.x] = x[(long long)(row_start + k) * cols + col_start + threadIdx.x];
    for (int k = threadIdx.y; k < 32; k += 8)
        if (col_start + k < cols && row_start + threadIdx.x < rows)
            y[(long long)(col_start + k) * rows + row_start + threadIdx.x] = tile[threadIdx.x][k];
}

// Transpose through a padded shared-memory tile: both global accesses run along rows, the transposition happens in shared memory.
// Rows of x start `pitch` elements apart, rows of y follow each other.
// Defines: DTYPE (FP32 or BF16), DENSE (1: pitch is cols, which saves registers on sm_100), TILE (side of the square tile), ROWS (rows of
// threads; a block has 32 * ROWS).

#define FP32 0
#define BF16 1

#if DTYPE == FP32
typedef float Element;
#else
typedef unsigned short Element;  // bits of a bfloat16: only moved
#endif

constexpr int LANES = 32;
// A row one 4-byte bank longer than the tile: stepping down a column then steps through all 32 banks.
constexpr int PAD = 4 / sizeof(Element);
constexpr int PER_THREAD = (TILE / LANES) * (TILE / ROWS);

// First row and column of the block's tile: `group` tile rows down before one tile column right, so that blocks that run together write
// neighbouring pieces of the same rows of y.
__device__ int2 tile_origin(int rows, int cols, int group) {
    const int down = (rows + TILE - 1) / TILE, across = (cols + TILE - 1) / TILE;
    const int first = blockIdx.x / (group * across) * group, within = blockIdx.x % (group * across);
    const int height = min(group, down - first);
    return make_int2((first + within % height) * TILE, within / height * TILE);
}

extern "C" __global__ void __launch_bounds__(LANES * ROWS)
transpose_padded(const Element* __restrict__ x, Element* __restrict__ y, int rows, int cols, int pitch, int group) {
    __shared__ Element tile[TILE][TILE + PAD];
#if DENSE
    pitch = cols;
#endif
    const int2 origin = tile_origin(rows, cols, group);
    const int row_start = origin.x, col_start = origin.y;

    Element held[PER_THREAD];  // all loads are issued before the first is needed
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const int r = threadIdx.y + k / (TILE / LANES) * ROWS, c = threadIdx.x + k % (TILE / LANES) * LANES;
        if (row_start + r < rows && col_start + c < cols) held[k] = x[(long long)(row_start + r) * pitch + col_start + c];
    }
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const int r = threadIdx.y + k / (TILE / LANES) * ROWS, c = threadIdx.x + k % (TILE / LANES) * LANES;
        tile[r][c] = held[k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        const int c = threadIdx.y + k / (TILE / LANES) * ROWS, r = threadIdx.x + k % (TILE / LANES) * LANES;
        if (row_start + r < rows && col_start + c < cols) y[(long long)(col_start + c) * rows + row_start + r] = tile[r][c];
    }
}

// Transpose with 16-byte accesses everywhere: W x W micro-tiles are transposed in registers, the tile in swizzled shared memory.
// W = 16 / sizeof(element). A thread loads W vectors (one micro-tile), and stores W vectors of the result.
// Defines: DTYPE (FP32 or BF16), TILE_ROWS and TILE_COLS (multiples of 8 * W), ALIGNED (1: rows and cols are multiples of W).

#define FP32 0
#define BF16 1

#if DTYPE == FP32
typedef float Element;
#else
typedef unsigned short Element;  // bits of a bfloat16: only moved
#endif

constexpr int W = 16 / sizeof(Element);
constexpr int MICRO_ROWS = TILE_ROWS / W;
constexpr int MICRO_COLS = TILE_COLS / W;
constexpr int THREADS = MICRO_ROWS * MICRO_COLS;

union Vector {
    uint4 whole;
    unsigned words[4];
    Element elements[W];
};

// Word w of column j of the micro-tile; the elements of a column come from different rows.
__device__ unsigned column_word(const Vector (&micro)[W], int j, int w) {
#if DTYPE == FP32
    return micro[w].words[j];
#else
    return __byte_perm(micro[2 * w].words[j / 2], micro[2 * w + 1].words[j / 2], j % 2 ? 0x7632 : 0x5410);
#endif
}

// The 16-byte slot that chunk `chunk` of tile column `c` occupies. Eight neighbouring lanes always meet eight different slots modulo 8,
// when they write (c steps by W) as when they read (chunk steps by 1), so neither phase has a bank conflict.
__device__ int slot(int c, int chunk) { return c * MICRO_ROWS + (chunk ^ (c / W % 8)); }

extern "C" __global__ void __launch_bounds__(THREADS)
transpose_swizzled(const Element* __restrict__ x, Element* __restrict__ y, int rows, int cols, int tiles_across) {
    __shared__ uint4 tile[TILE_COLS * MICRO_ROWS];
    const int row_start = blockIdx.x / tiles_across * TILE_ROWS;
    const int col_start = blockIdx.x % tiles_across * TILE_COLS;

    const int micro_row = threadIdx.x / MICRO_COLS, micro_col = threadIdx.x % MICRO_COLS;
    const int col = col_start + micro_col * W;
    Vector micro[W];
#pragma unroll
    for (int k = 0; k < W; ++k) {
        const int row = row_start + micro_row * W + k;
        const Element* from = x + (long long)row * cols + col;
#if ALIGNED
        if (row < rows && col < cols) micro[k].whole = __ldcs(reinterpret_cast<const uint4*>(from));
#else
#pragma unroll
        for (int e = 0; e < W; ++e)
            if (row < rows && col + e < cols) micro[k].elements[e] = from[e];
#endif
    }
#pragma unroll
    for (int j = 0; j < W; ++j)
        tile[slot(micro_col * W + j, micro_row)] =
            make_uint4(column_word(micro, j, 0), column_word(micro, j, 1), column_word(micro, j, 2), column_word(micro, j, 3));
    __syncthreads();

#pragma unroll
    for (int k = 0; k < W; ++k) {
        const int chunk = threadIdx.x % MICRO_ROWS, c = threadIdx.x / MICRO_ROWS + k * MICRO_COLS;
        const int row = row_start + chunk * W;
        if (col_start + c >= cols || row >= rows) continue;
        Element* to = y + (long long)(col_start + c) * rows + row;
        Vector held;
        held.whole = tile[slot(c, chunk)];
#if ALIGNED
        __stcs(reinterpret_cast<uint4*>(to), held.whole);
#else
#pragma unroll
        for (int e = 0; e < W; ++e)
            if (row + e < rows) to[e] = held.elements[e];
#endif
    }
}

// Transpose with 16-byte accesses everywhere: W x W micro-tiles are transposed in registers, the tile in swizzled shared memory.
// W = 16 / sizeof(element). A thread loads MICROS micro-tiles of W vectors each, and stores as many vectors of the result.
// Rows of x start `pitch` elements apart, rows of y follow each other.
// Defines: DTYPE (FP32 or BF16), TILE_ROWS and TILE_COLS (multiples of 8 * W), MICROS, ALIGNED (1: x starts on 16 bytes, and rows, cols and
// pitch are multiples of W),
// LOADS (PLAIN, STREAMING or WHOLE_LINE) and STORES (PLAIN or STREAMING): cache hints of the 16-byte accesses.

#define FP32 0
#define BF16 1
#define PLAIN 0
#define STREAMING 1
#define WHOLE_LINE 2

#if DTYPE == FP32
typedef float Element;
#else
typedef unsigned short Element;  // bits of a bfloat16: only moved
#endif

constexpr int W = 16 / sizeof(Element);
constexpr int MICRO_ROWS = TILE_ROWS / W;
constexpr int MICRO_COLS = TILE_COLS / W;
constexpr int THREADS = MICRO_ROWS * MICRO_COLS / MICROS;

union Vector {
    uint4 whole;
    unsigned words[4];
    Element elements[W];
};

__device__ uint4 load_vector(const Element* from) {
#if LOADS == WHOLE_LINE
    // Rows need not start on a 64-byte boundary. The half of a DRAM access that belongs to the neighbouring tile waits in L2 for it.
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
#elif LOADS == STREAMING
    return __ldcs(reinterpret_cast<const uint4*>(from));
#else
    return *reinterpret_cast<const uint4*>(from);
#endif
}

__device__ void store_vector(Element* to, uint4 value) {
#if STORES == STREAMING
    __stcs(reinterpret_cast<uint4*>(to), value);
#else
    *reinterpret_cast<uint4*>(to) = value;
#endif
}

// First row and column of the block's tile: `group` tile rows down before one tile column right. Blocks that run together then write
// neighbouring pieces of the same rows of y as well as read neighbouring pieces of the same rows of x.
__device__ int2 tile_origin(int rows, int cols, int group) {
    const int down = (rows + TILE_ROWS - 1) / TILE_ROWS, across = (cols + TILE_COLS - 1) / TILE_COLS;
    const int first = blockIdx.x / (group * across) * group, within = blockIdx.x % (group * across);
    const int height = min(group, down - first);
    return make_int2((first + within % height) * TILE_ROWS, within / height * TILE_COLS);
}

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
transpose_swizzled(const Element* __restrict__ x, Element* __restrict__ y, int rows, int cols, int pitch, int group) {
    __shared__ uint4 tile[TILE_COLS * MICRO_ROWS];
    const int2 origin = tile_origin(rows, cols, group);

    Vector held[MICROS][W];  // all loads are issued before the first is needed
#pragma unroll
    for (int m = 0; m < MICROS; ++m) {
        const int micro = threadIdx.x + m * THREADS;
        const int row_start = origin.x + micro / MICRO_COLS * W, col = origin.y + micro % MICRO_COLS * W;
#pragma unroll
        for (int k = 0; k < W; ++k) {
            const int row = row_start + k;
            const Element* from = x + (long long)row * pitch + col;
#if ALIGNED
            if (row < rows && col < cols) held[m][k].whole = load_vector(from);
#else
#pragma unroll
            for (int e = 0; e < W; ++e)
                if (row < rows && col + e < cols) held[m][k].elements[e] = from[e];
#endif
        }
    }
#pragma unroll
    for (int m = 0; m < MICROS; ++m) {
        const int micro = threadIdx.x + m * THREADS;
#pragma unroll
        for (int j = 0; j < W; ++j)
            tile[slot(micro % MICRO_COLS * W + j, micro / MICRO_COLS)] = make_uint4(
                column_word(held[m], j, 0), column_word(held[m], j, 1), column_word(held[m], j, 2), column_word(held[m], j, 3));
    }
    __syncthreads();

    Vector out[MICROS * W];
#pragma unroll
    for (int k = 0; k < MICROS * W; ++k) {
        const int vector = threadIdx.x + k * THREADS;
        out[k].whole = tile[slot(vector / MICRO_ROWS, vector % MICRO_ROWS)];
    }
#pragma unroll
    for (int k = 0; k < MICROS * W; ++k) {
        const int vector = threadIdx.x + k * THREADS;
        const int row = origin.x + vector % MICRO_ROWS * W, col = origin.y + vector / MICRO_ROWS;
        if (col >= cols || row >= rows) continue;
        Element* to = y + (long long)col * rows + row;
#if ALIGNED
        store_vector(to, out[k].whole);
#else
#pragma unroll
        for (int e = 0; e < W; ++e)
            if (row + e < rows) to[e] = out[k].elements[e];
#endif
    }
}

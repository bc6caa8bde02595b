// Transpose without shared memory: a thread gathers one 32-byte sector of the result from a column of x and stores it at once.
// Defines: DTYPE (FP32 or BF16), ALIGNED (1: rows of y are multiples of 16 bytes).

#define FP32 0
#define BF16 1

#if DTYPE == FP32
typedef float Element;
#else
typedef unsigned short Element;  // bits of a bfloat16: only moved
#endif

constexpr int SECTOR = 32 / sizeof(Element);  // elements of a sector
constexpr int LANES = 32;
constexpr int WARPS = 8;  // a block makes WARPS neighbouring sectors in each of LANES rows of y

union Sector {
    uint4 halves[2];
    Element elements[SECTOR];
};

extern "C" __global__ void __launch_bounds__(LANES * WARPS)
transpose_direct(const Element* __restrict__ x, Element* __restrict__ y, int rows, int cols, long long pitch) {
    const int down = (rows + SECTOR * WARPS - 1) / (SECTOR * WARPS);
    const int col = (blockIdx.x / down) * LANES + threadIdx.x;  // blocks that run together fill neighbouring pieces of the same rows of y
    const int row = (blockIdx.x % down) * (SECTOR * WARPS) + threadIdx.y * SECTOR;
    if (col >= cols || row >= rows) return;
    const Element* from = x + row * pitch + col;
    Element* to = y + (long long)col * rows + row;

    Sector sector;  // every load of a warp is a contiguous run of a row of x, and all are issued before the first store
#pragma unroll
    for (int k = 0; k < SECTOR; ++k)
        if (row + k < rows) sector.elements[k] = from[k * pitch];
#if ALIGNED
    constexpr int HALF = SECTOR / 2;
    *reinterpret_cast<uint4*>(to) = sector.halves[0];  // rows is a multiple of HALF: a half is inside or outside whole
    if (row + HALF < rows) *reinterpret_cast<uint4*>(to + HALF) = sector.halves[1];
#else
#pragma unroll
    for (int k = 0; k < SECTOR; ++k)
        if (row + k < rows) to[k] = sector.elements[k];
#endif
}

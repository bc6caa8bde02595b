// Transpose of bf16 through a 128x128 shared tile whose 8-byte pieces are permuted by row (XOR): both sides of the tile are free of
// conflicts, and rows of 256 bytes leave and arrive whole. A thread turns a 4x4 piece in registers. 126 MiB in and out: DRAM bandwidth.
#include <cuda_bf16.h>

#include "../evidence.cuh"

constexpr int ROWS = 8064, COLUMNS = 8192, TILE = 128, THREADS = 512, WARPS = THREADS / 32, PIECES = TILE / 4;  // a piece: 4 values, 8 bytes

static __device__ int place(int row, int piece) { return row * PIECES + (piece ^ (row / 4)); }

// Four rows of four 16-bit values become four columns.
static __device__ void turn(const uint2 (&in)[4], uint2 (&out)[4]) {
  out[0] = make_uint2(__byte_perm(in[0].x, in[1].x, 0x5410), __byte_perm(in[2].x, in[3].x, 0x5410));
  out[1] = make_uint2(__byte_perm(in[0].x, in[1].x, 0x7632), __byte_perm(in[2].x, in[3].x, 0x7632));
  out[2] = make_uint2(__byte_perm(in[0].y, in[1].y, 0x5410), __byte_perm(in[2].y, in[3].y, 0x5410));
  out[3] = make_uint2(__byte_perm(in[0].y, in[1].y, 0x7632), __byte_perm(in[2].y, in[3].y, 0x7632));
}

__global__ __launch_bounds__(THREADS) void good_transpose_swizzled(const uint2* __restrict__ in, uint2* __restrict__ out) {
  __shared__ uint2 tile[TILE * PIECES];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
  uint2 held[TILE / WARPS];
#pragma unroll
  for (int i = 0; i < TILE / WARPS; ++i) held[i] = __ldcs(&in[size_t(row0 + warp + i * WARPS) * (COLUMNS / 4) + column0 / 4 + lane]);
#pragma unroll
  for (int i = 0; i < TILE / WARPS; ++i) tile[place(warp + i * WARPS, lane)] = held[i];
  __syncthreads();
#pragma unroll
  for (int piece = warp; piece < PIECES; piece += WARPS) {  // the lanes take rows 4 * lane to 4 * lane + 3
    uint2 rows[4], columns[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) rows[j] = tile[place(lane * 4 + j, piece)];
    turn(rows, columns);
#pragma unroll
    for (int j = 0; j < 4; ++j) __stcs(&out[size_t(column0 + piece * 4 + j) * (ROWS / 4) + row0 / 4 + lane], columns[j]);
  }
}

int main() {
  auto* in = device_array<unsigned short>(size_t(ROWS) * COLUMNS, [](size_t i) { return static_cast<unsigned short>(i * 40503u >> 4); });
  auto* out = device_zeros<unsigned short>(size_t(ROWS) * COLUMNS);
  const dim3 grid(COLUMNS / TILE, ROWS / TILE);
  launch_twice([&] { good_transpose_swizzled<<<grid, THREADS>>>(reinterpret_cast<uint2*>(in), reinterpret_cast<uint2*>(out)); });
  bool same = true;
  for (int i = 0; i < 64; ++i) same &= peek(out, size_t(4099 + i) * ROWS + 77 + 3 * i) == peek(in, size_t(77 + 3 * i) * COLUMNS + 4099 + i);
  return finish(same);
}

// The cure of naive_attention_scores: a block makes 128 x 128 scores from rows of q and k that it reads once, coalesced, into shared
// memory; a thread keeps 8 x 8 of them in registers, so that four 16-byte reads feed 64 FMAs. 2.1 GFLOP and 64 MiB of output are left.
#include "../evidence.cuh"

constexpr int HEADS = 4, LENGTH = 2048, DIM = 64, TILE = 128, DEPTH = 32, PER = 8, THREADS = 256;
constexpr int VECTORS = TILE * DEPTH / 4 / THREADS;

// Places of four within a row of the tile are exchanged by depth, so that the transposing store of a warp meets each bank once.
static __device__ int place(int depth, int row) { return row ^ (depth / 4 % 8 * 4); }

static __device__ void fill(float (&tile)[DEPTH][TILE], const float* __restrict__ rows) {
  const int first = threadIdx.x / 8, quarter = threadIdx.x % 8 * 4;  // eight lanes read 128 bytes of a row
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) {
    const int row = first + i * (THREADS / 8);
    const float4 v = *reinterpret_cast<const float4*>(&rows[size_t(row) * DIM + quarter]);
    tile[quarter][place(quarter, row)] = v.x;
    tile[quarter + 1][place(quarter, row)] = v.y;
    tile[quarter + 2][place(quarter, row)] = v.z;
    tile[quarter + 3][place(quarter, row)] = v.w;
  }
}

static __device__ void read_eight(float (&eight)[PER], const float (&tile)[DEPTH][TILE], int depth, int at) {
#pragma unroll
  for (int h = 0; h < 2; ++h)  // two runs of four, 64 apart
    *reinterpret_cast<float4*>(&eight[h * 4]) = *reinterpret_cast<const float4*>(&tile[depth][place(depth, h * 64 + at * 4)]);
}

__global__ void __launch_bounds__(THREADS, 2) scores_tiled(const float* __restrict__ q, const float* __restrict__ k,
                                                           float* __restrict__ scores) {
  __shared__ __align__(16) float queries[DEPTH][TILE], keys[DEPTH][TILE];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int tx = warp % 2 * 8 + lane % 8, ty = warp / 2 * 4 + lane / 8;
  const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
  const size_t head = size_t(blockIdx.z) * LENGTH;
  float sum[PER][PER] = {};
  for (int d0 = 0; d0 < DIM; d0 += DEPTH) {
    fill(queries, q + (head + row0) * DIM + d0);
    fill(keys, k + (head + column0) * DIM + d0);
    __syncthreads();
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      float a[PER], b[PER];
      read_eight(a, queries, d, ty);
      read_eight(b, keys, d, tx);
#pragma unroll
      for (int i = 0; i < PER; ++i)
#pragma unroll
        for (int j = 0; j < PER; ++j) sum[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }
  const float scale = rsqrtf(float(DIM));
#pragma unroll
  for (int i = 0; i < PER; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h)
      *reinterpret_cast<float4*>(&scores[(head + row0 + i / 4 * 64 + ty * 4 + i % 4) * LENGTH + column0 + h * 64 + tx * 4]) =
          make_float4(sum[i][h * 4] * scale, sum[i][h * 4 + 1] * scale, sum[i][h * 4 + 2] * scale, sum[i][h * 4 + 3] * scale);
}

int main() {
  size_t count = size_t(HEADS) * LENGTH * DIM;
  auto* q = device_array<float>(count, [](size_t i) { return float(i % 7) * 0.25f; });
  auto* k = device_array<float>(count, [](size_t i) { return float(i % 5) * 0.5f - 0.5f; });
  auto* scores = device_zeros<float>(size_t(HEADS) * LENGTH * LENGTH);
  launch_twice([&] { scores_tiled<<<dim3(LENGTH / TILE, LENGTH / TILE, HEADS), THREADS>>>(q, k, scores); });
  bool ok = true;
  for (size_t row : {size_t(77), size_t(3) * LENGTH + 1999}) {
    double expected = 0;
    const size_t column = row / LENGTH * LENGTH + 1029;
    for (int i = 0; i < DIM; ++i) expected += double(peek(q, row * DIM + i)) * peek(k, column * DIM + i);
    ok &= close_to(peek(scores, row * LENGTH + 1029), expected / 8);
  }
  return finish(ok);
}

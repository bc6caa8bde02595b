// The cure of wmma_from_global: the same product from shared memory. A block of 8 warps makes 128 x 256 outputs, a warp 64 x 64, so that
// 4 KiB of ldmatrix feed 32 products of m16n8k16: 32 cycles of shared memory to 48 of the tensor pipe. Four stages of cp.async with one barrier
// each, and fragments one step ahead. The share of cycles with a busy tensor pipe must rise from 4 % to above 60 %.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>

#include "../evidence.cuh"

constexpr int N = 4096, TILE_M = 128, TILE_N = 256, DEPTH = 64, STAGES = 4, THREADS = 256;
constexpr int STEPS = N / DEPTH, SLICES = DEPTH / 16;

struct Stage {
  __nv_bfloat16 a[TILE_M][DEPTH];
  __nv_bfloat16 b[DEPTH][TILE_N];
};

struct Fragments {
  unsigned a[4][4];  // 64 x 16
  unsigned b[4][4];  // 16 x 64, two 16 x 8 operands each
};

// Where element (row, column) of a tile lies in its row: the 16-byte pieces are permuted by row, so that eight rows of ldmatrix
// meet all 32 banks once.
static __device__ int swizzled(int row, int column) { return column ^ (row % 8 * 8); }

static __device__ void fetch(Stage& stage, const __nv_bfloat16* a, const __nv_bfloat16* b, int row0, int column0, int k0) {
#pragma unroll
  for (int i = threadIdx.x; i < TILE_M * DEPTH / 8; i += THREADS) {  // 8 elements are 16 bytes
    const int row = i / (DEPTH / 8), k = i % (DEPTH / 8) * 8;
    __pipeline_memcpy_async(&stage.a[row][swizzled(row, k)], &a[size_t(row0 + row) * N + k0 + k], 16);
  }
#pragma unroll
  for (int i = threadIdx.x; i < DEPTH * TILE_N / 8; i += THREADS) {
    const int k = i / (TILE_N / 8), column = i % (TILE_N / 8) * 8;
    __pipeline_memcpy_async(&stage.b[k][swizzled(k, column)], &b[size_t(k0 + k) * N + column0 + column], 16);
  }
}

static __device__ void load_a(unsigned (&r)[4], const __nv_bfloat16* p) {  // 16x16, row major
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(unsigned(__cvta_generic_to_shared(p)))
               : "memory");
}

static __device__ void load_b(unsigned (&r)[4], const __nv_bfloat16* p) {  // 16x16, transposed on the way: two 16x8 operands
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(unsigned(__cvta_generic_to_shared(p)))
               : "memory");
}

static __device__ void load_fragments(Fragments& f, const Stage& stage, int k) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = warp / 4 * 64 + lane % 16, column = warp % 4 * 64 + lane / 16 * 8;
#pragma unroll
  for (int i = 0; i < 4; ++i) load_a(f.a[i], &stage.a[row + i * 16][swizzled(row, k + lane / 16 * 8)]);
#pragma unroll
  for (int j = 0; j < 4; ++j) load_b(f.b[j], &stage.b[k + lane % 16][swizzled(lane, column + j * 16)]);
}

static __device__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__global__ __launch_bounds__(THREADS, 1) void wmma_staged(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                                                          float* __restrict__ c) {
  extern __shared__ __align__(128) char memory[];
  Stage* stages = reinterpret_cast<Stage*>(memory);
  const int row0 = blockIdx.y * TILE_M, column0 = blockIdx.x * TILE_N;
  float sum[4][8][4] = {};  // 16x8 tiles: down, across, values a lane
  Fragments fragments[2];
  for (int stage = 0; stage < STAGES - 1; ++stage) {
    fetch(stages[stage], a, b, row0, column0, stage * DEPTH);
    __pipeline_commit();
  }
  __pipeline_wait_prior(STAGES - 2);
  __syncthreads();
  load_fragments(fragments[0], stages[0], 0);
  for (int step = 0; step < STEPS; ++step) {
    const Stage& now = stages[step % STAGES];
#pragma unroll
    for (int slice = 0; slice < SLICES; ++slice) {
      if (slice == 0) {  // the buffer of the step before: every warp took its last fragments before the barrier below
        if (step + STAGES - 1 < STEPS) fetch(stages[(step + STAGES - 1) % STAGES], a, b, row0, column0, (step + STAGES - 1) * DEPTH);
        __pipeline_commit();  // also when empty, so that the count below holds to the end
      }
      if (slice < SLICES - 1) {
        load_fragments(fragments[(slice + 1) % 2], now, (slice + 1) * 16);
      } else {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();
        if (step + 1 < STEPS) load_fragments(fragments[0], stages[(step + 1) % STAGES], 0);
      }
      const Fragments& f = fragments[slice % 2];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) multiply(sum[i][j], f.a[i], f.b[j / 2][j % 2 * 2], f.b[j / 2][j % 2 * 2 + 1]);
    }
  }
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float* corner = c + size_t(row0 + warp / 4 * 64 + lane / 4) * N + column0 + warp % 4 * 64 + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      float* out = corner + size_t(i) * 16 * N + j * 8;
      *reinterpret_cast<float2*>(out) = make_float2(sum[i][j][0], sum[i][j][1]);
      *reinterpret_cast<float2*>(out + 8 * N) = make_float2(sum[i][j][2], sum[i][j][3]);
    }
}

int main() {
  auto* a = device_array<__nv_bfloat16>(size_t(N) * N, [](size_t i) { return __float2bfloat16(float(i % 13) * 0.125f + 0.25f); });
  auto* b = device_array<__nv_bfloat16>(size_t(N) * N, [](size_t i) { return __float2bfloat16(float(i % 11) * 0.125f - 0.5f); });
  auto* c = device_zeros<float>(size_t(N) * N);
  CUDA_CHECK(cudaFuncSetAttribute(wmma_staged, cudaFuncAttributeMaxDynamicSharedMemorySize, STAGES * sizeof(Stage)));
  launch_twice([&] { wmma_staged<<<dim3(N / TILE_N, N / TILE_M), THREADS, STAGES * sizeof(Stage)>>>(a, b, c); });
  double expected = 0;
  for (int k = 0; k < N; ++k)
    expected += double(__bfloat162float(peek(a, size_t(37) * N + k))) * __bfloat162float(peek(b, size_t(k) * N + 1029));
  return finish(close_to(peek(c, size_t(37) * N + 1029), expected));
}

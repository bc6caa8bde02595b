// The same product as wmma_from_global from shared memory: 128x128 block tile, cp.async double buffering, 64x32 outputs a warp, operands by
// ldmatrix from swizzled tiles. On an H200 the tensor pipe is busy for about half of the cycles, against 4 %: two buffers with two barriers
// a step, and no fragment loaded ahead. L1/TEX is somewhat busier than the tensor pipe; neither is at its limit.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>

#include "../evidence.cuh"

constexpr int N = 4096, TILE = 128, DEPTH = 64;  // rows of 128 bytes or more: cp.async asks the L2 for 128 bytes at a time

struct Stage {
  __nv_bfloat16 a[TILE][DEPTH];
  __nv_bfloat16 b[DEPTH][TILE];
};

// Where element (row, column) of a tile lies in its row: the 16-byte pieces are permuted by row, so that eight rows of ldmatrix
// meet all 32 banks once.
__device__ int swizzled(int row, int column) { return column ^ (row % 8 * 8); }

__device__ void fetch(Stage& stage, const __nv_bfloat16* a, const __nv_bfloat16* b, int row0, int column0, int k0) {
  for (int i = threadIdx.x; i < TILE * DEPTH / 8; i += 256) {  // 8 elements are 16 bytes
    int ra = i / (DEPTH / 8), ka = i % (DEPTH / 8) * 8, kb = i / (TILE / 8), cb = i % (TILE / 8) * 8;
    __pipeline_memcpy_async(&stage.a[ra][swizzled(ra, ka)], &a[size_t(row0 + ra) * N + k0 + ka], 16);
    __pipeline_memcpy_async(&stage.b[kb][swizzled(kb, cb)], &b[size_t(k0 + kb) * N + column0 + cb], 16);
  }
  __pipeline_commit();
}

__device__ void load_a(unsigned (&r)[4], const __nv_bfloat16* p) {  // 16x16, row major
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(unsigned(__cvta_generic_to_shared(p))));
}

__device__ void load_b(unsigned (&r)[4], const __nv_bfloat16* p) {  // 16x16, transposed on the way: two 16x8 operands
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(unsigned(__cvta_generic_to_shared(p))));
}

__device__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__global__ __launch_bounds__(256, 2) void tensor_gemm_mma(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                                                          float* __restrict__ c) {
  extern __shared__ __align__(128) char memory[];
  Stage* stages = reinterpret_cast<Stage*>(memory);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = warp / 4 * 64, column = warp % 4 * 32;
  const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
  float sum[4][4][4] = {};  // 16x8 tiles: down, across, values a lane
  fetch(stages[0], a, b, row0, column0, 0);
  for (int k0 = 0; k0 < N; k0 += DEPTH) {
    Stage& now = stages[k0 / DEPTH % 2];
    if (k0 + DEPTH < N) {
      fetch(stages[(k0 / DEPTH + 1) % 2], a, b, row0, column0, k0 + DEPTH);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < DEPTH; k += 16) {
      const int ra = row + lane % 16, ka = k + lane / 16 * 8, kb = k + lane % 16, cb = column + lane / 16 * 8;
      unsigned fa[4][4], fb[2][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) load_a(fa[i], &now.a[ra + i * 16][swizzled(ra, ka)]);
#pragma unroll
      for (int j = 0; j < 2; ++j) load_b(fb[j], &now.b[kb][swizzled(kb, cb + j * 16)]);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) multiply(sum[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float* out = &c[size_t(row0 + row + i * 16 + lane / 4) * N + column0 + column + j * 8 + lane % 4 * 2];
      *reinterpret_cast<float2*>(out) = make_float2(sum[i][j][0], sum[i][j][1]);
      *reinterpret_cast<float2*>(out + 8 * N) = make_float2(sum[i][j][2], sum[i][j][3]);
    }
}

int main() {
  auto* a = device_array<__nv_bfloat16>(size_t(N) * N, [](size_t i) { return __float2bfloat16(float(i % 13) * 0.125f + 0.25f); });
  auto* b = device_array<__nv_bfloat16>(size_t(N) * N, [](size_t i) { return __float2bfloat16(float(i % 11) * 0.125f - 0.5f); });
  auto* c = device_zeros<float>(size_t(N) * N);
  CUDA_CHECK(cudaFuncSetAttribute(tensor_gemm_mma, cudaFuncAttributeMaxDynamicSharedMemorySize, 2 * sizeof(Stage)));
  launch_twice([&] { tensor_gemm_mma<<<dim3(N / TILE, N / TILE), 256, 2 * sizeof(Stage)>>>(a, b, c); });
  double expected = 0;
  for (int k = 0; k < N; ++k)
    expected += double(__bfloat162float(peek(a, size_t(37) * N + k))) * __bfloat162float(peek(b, size_t(k) * N + 1029));
  return finish(close_to(peek(c, size_t(37) * N + 1029), expected));
}

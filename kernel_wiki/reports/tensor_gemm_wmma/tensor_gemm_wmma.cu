// The cure of wmma_from_global: 128x128 block tile, cp.async double buffering, 64x32 outputs a warp, fragments from padded shared
// memory. mma.sync alone does not reach Hopper's peak (that takes wgmma), but the tensor pipe is now the busiest unit.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include "../evidence.cuh"

using namespace nvcuda;
constexpr int N = 4096, TILE = 128, DEPTH = 32, PAD = 8;

__shared__ alignas(128) __nv_bfloat16 as[2][TILE][DEPTH + PAD];
__shared__ alignas(128) __nv_bfloat16 bs[2][DEPTH][TILE + PAD];

__device__ void fetch(int stage, const __nv_bfloat16* a, const __nv_bfloat16* b, int row0, int column0, int k0) {
  for (int i = threadIdx.x; i < TILE * DEPTH / 8; i += 256) {  // 8 elements are 16 bytes
    int ra = i / (DEPTH / 8), ka = i % (DEPTH / 8) * 8, kb = i / (TILE / 8), cb = i % (TILE / 8) * 8;
    __pipeline_memcpy_async(&as[stage][ra][ka], &a[size_t(row0 + ra) * N + k0 + ka], 16);
    __pipeline_memcpy_async(&bs[stage][kb][cb], &b[size_t(k0 + kb) * N + column0 + cb], 16);
  }
  __pipeline_commit();
}

__global__ __launch_bounds__(256) void tensor_gemm_wmma(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                                                        float* __restrict__ c) {
  const int warp = threadIdx.x / 32, row = warp / 4 * 64, column = warp % 4 * 32;
  const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4][2];
  for (auto& line : sum)
    for (auto& tile : line) wmma::fill_fragment(tile, 0.f);
  fetch(0, a, b, row0, column0, 0);
  for (int k0 = 0; k0 < N; k0 += DEPTH) {
    const int now = k0 / DEPTH % 2;
    if (k0 + DEPTH < N) {
      fetch(1 - now, a, b, row0, column0, k0 + DEPTH);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < DEPTH; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa[4];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb[2];
      for (int i = 0; i < 4; ++i) wmma::load_matrix_sync(fa[i], &as[now][row + i * 16][k], DEPTH + PAD);
      for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(fb[j], &bs[now][k][column + j * 16], TILE + PAD);
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], fa[i], fb[j], sum[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j)
      wmma::store_matrix_sync(&c[size_t(row0 + row + i * 16) * N + column0 + column + j * 16], sum[i][j], N, wmma::mem_row_major);
}

int main() {
  auto* a = device_array<__nv_bfloat16>(size_t(N) * N, [](size_t i) { return __float2bfloat16(float(i % 13) * 0.125f + 0.25f); });
  auto* b = device_array<__nv_bfloat16>(size_t(N) * N, [](size_t i) { return __float2bfloat16(float(i % 11) * 0.125f - 0.5f); });
  auto* c = device_zeros<float>(size_t(N) * N);
  launch_twice([&] { tensor_gemm_wmma<<<dim3(N / TILE, N / TILE), 256>>>(a, b, c); });
  double expected = 0;
  for (int k = 0; k < N; ++k)
    expected += double(__bfloat162float(peek(a, size_t(37) * N + k))) * __bfloat162float(peek(b, size_t(k) * N + 1029));
  return finish(close_to(peek(c, size_t(37) * N + 1029), expected));
}

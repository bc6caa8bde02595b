// bf16 matrix product on tensor cores whose fragments come straight from global memory, one 16x16 tile a warp: the tensor pipe
// starves behind the load-store path.
#include <cuda_bf16.h>
#include <mma.h>

#include "../evidence.cuh"

using namespace nvcuda;
constexpr int N = 4096;

__global__ void wmma_from_global(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b, float* __restrict__ c) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int row = warp / (N / 16) * 16, column = warp % (N / 16) * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.f);
  for (int k = 0; k < N; k += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb;
    wmma::load_matrix_sync(fa, a + size_t(row) * N + k, N);
    wmma::load_matrix_sync(fb, b + size_t(k) * N + column, N);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::store_matrix_sync(c + size_t(row) * N + column, sum, N, wmma::mem_row_major);
}

int main() {
  auto* a = device_array<__nv_bfloat16>(size_t(N) * N, [](size_t i) { return __float2bfloat16(float(i % 13) * 0.125f + 0.25f); });
  auto* b = device_array<__nv_bfloat16>(size_t(N) * N, [](size_t i) { return __float2bfloat16(float(i % 11) * 0.125f - 0.5f); });
  auto* c = device_zeros<float>(size_t(N) * N);
  launch_twice([&] { wmma_from_global<<<(N / 16) * (N / 16) / 8, 256>>>(a, b, c); });
  double expected = 0;
  for (int k = 0; k < N; ++k)
    expected += double(__bfloat162float(peek(a, size_t(37) * N + k))) * __bfloat162float(peek(b, size_t(k) * N + 1029));
  return finish(close_to(peek(c, size_t(37) * N + 1029), expected));
}

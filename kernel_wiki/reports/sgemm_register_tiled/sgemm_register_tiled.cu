// The cure of naive_gemm: 128x128 block tile through shared memory, 8x8 outputs a thread in registers. Each shared load feeds
// several FMAs, so the FMA pipe becomes the limit.
#include "../evidence.cuh"

constexpr int N = 4096, TILE = 128, DEPTH = 16, PER = 8;

__global__ __launch_bounds__(256) void sgemm_register_tiled(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
  __shared__ float as[DEPTH][TILE + 4], bs[DEPTH][TILE];  // as is transposed; +4 keeps 16-byte alignment and spreads the stores
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
  float sum[PER][PER] = {};
  for (int k0 = 0; k0 < N; k0 += DEPTH) {
    for (int i = threadIdx.x; i < TILE * DEPTH / 4; i += 256) {
      int r = i / (DEPTH / 4), k = i % (DEPTH / 4) * 4;
      float4 va = *reinterpret_cast<const float4*>(&a[size_t(row0 + r) * N + k0 + k]);
      as[k][r] = va.x, as[k + 1][r] = va.y, as[k + 2][r] = va.z, as[k + 3][r] = va.w;
      int kb = i / (TILE / 4), cb = i % (TILE / 4) * 4;
      *reinterpret_cast<float4*>(&bs[kb][cb]) = *reinterpret_cast<const float4*>(&b[size_t(k0 + kb) * N + column0 + cb]);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
      float ra[PER], rb[PER];
      for (int h = 0; h < 2; ++h) {  // two runs of four, 64 apart, so that a warp's reads meet each bank once
        *reinterpret_cast<float4*>(&ra[h * 4]) = *reinterpret_cast<float4*>(&as[k][h * 64 + ty * 4]);
        *reinterpret_cast<float4*>(&rb[h * 4]) = *reinterpret_cast<float4*>(&bs[k][h * 64 + tx * 4]);
      }
#pragma unroll
      for (int i = 0; i < PER; ++i)
#pragma unroll
        for (int j = 0; j < PER; ++j) sum[i][j] += ra[i] * rb[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < PER; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h)
      *reinterpret_cast<float4*>(&c[size_t(row0 + i / 4 * 64 + ty * 4 + i % 4) * N + column0 + h * 64 + tx * 4]) =
          make_float4(sum[i][h * 4], sum[i][h * 4 + 1], sum[i][h * 4 + 2], sum[i][h * 4 + 3]);
}

int main() {
  auto* a = device_array<float>(size_t(N) * N, [](size_t i) { return float(i % 13) * 0.125f + 0.25f; });
  auto* b = device_array<float>(size_t(N) * N, [](size_t i) { return float(i % 11) * 0.125f - 0.5f; });
  auto* c = device_zeros<float>(size_t(N) * N);
  launch_twice([&] { sgemm_register_tiled<<<dim3(N / TILE, N / TILE), 256>>>(a, b, c); });
  double expected = 0;
  for (int k = 0; k < N; ++k) expected += double(peek(a, size_t(37) * N + k)) * peek(b, size_t(k) * N + 1029);
  return finish(close_to(peek(c, size_t(37) * N + 1029), expected));
}

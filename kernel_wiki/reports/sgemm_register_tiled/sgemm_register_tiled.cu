// The cure of naive_gemm: 128x128 block tile through shared memory, 8x8 outputs a thread in registers, the next tile fetched into
// registers while this one is multiplied. Sixteen shared values feed 64 FMAs, so the FMA pipe becomes the limit.
#include "../evidence.cuh"

constexpr int N = 4096, TILE = 128, DEPTH = 8, PER = 8;

struct Stage {
  float a[DEPTH][TILE + 4];  // transposed; rows four apart are 16 banks apart, so the scattered stores of a warp meet each bank once
  float b[DEPTH][TILE];
};

__device__ void put(Stage& stage, float4 va, float4 vb) {
  int r = threadIdx.x / 2, k = threadIdx.x % 2 * 4;
  stage.a[k][r] = va.x, stage.a[k + 1][r] = va.y, stage.a[k + 2][r] = va.z, stage.a[k + 3][r] = va.w;
  *reinterpret_cast<float4*>(&stage.b[threadIdx.x / 32][threadIdx.x % 32 * 4]) = vb;
}

__global__ __launch_bounds__(256, 2) void sgemm_register_tiled(const float* __restrict__ a, const float* __restrict__ b,
                                                               float* __restrict__ c) {
  __shared__ Stage stages[2];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int tx = warp % 2 * 8 + lane % 8, ty = warp / 2 * 4 + lane / 8;  // a warp reads 4 and 8 vectors of 16 bytes: one wavefront each
  const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
  const float* next_a = a + size_t(row0 + threadIdx.x / 2) * N + threadIdx.x % 2 * 4;
  const float* next_b = b + size_t(threadIdx.x / 32) * N + column0 + lane * 4;
  float sum[PER][PER] = {};
  put(stages[0], *reinterpret_cast<const float4*>(next_a), *reinterpret_cast<const float4*>(next_b));
  __syncthreads();
  for (int k0 = 0; k0 < N; k0 += DEPTH) {
    const Stage& now = stages[k0 / DEPTH % 2];
    float4 va, vb;
    if (k0 + DEPTH < N) {
      va = *reinterpret_cast<const float4*>(next_a += DEPTH);
      vb = *reinterpret_cast<const float4*>(next_b += size_t(DEPTH) * N);
    }
#pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
      float ra[PER], rb[PER];
#pragma unroll
      for (int h = 0; h < 2; ++h) {  // two runs of four, 64 apart
        *reinterpret_cast<float4*>(&ra[h * 4]) = *reinterpret_cast<const float4*>(&now.a[k][h * 64 + ty * 4]);
        *reinterpret_cast<float4*>(&rb[h * 4]) = *reinterpret_cast<const float4*>(&now.b[k][h * 64 + tx * 4]);
      }
#pragma unroll
      for (int i = 0; i < PER; ++i)
#pragma unroll
        for (int j = 0; j < PER; ++j) sum[i][j] += ra[i] * rb[j];
    }
    if (k0 + DEPTH < N) put(stages[(k0 / DEPTH + 1) % 2], va, vb);
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

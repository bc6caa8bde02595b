// Manhattan distances of 3072 x 2816 vectors of 256 dimensions, both given dimension-major. Nothing is wrong with it: absolute values
// have no tensor-core form, so a 128 x 128 tile a block, 8 x 8 distances a thread, two FADD each a dimension (4.4 G lane operations,
// 150 us at full rate), tiles by cp.async into two buffers, exactly two waves of two blocks an SM. Four 16-byte shared loads serve
// 128 FADD.
#include "../evidence.cuh"

#include <cuda_pipeline.h>

constexpr int LEFT = 24 * 128, RIGHT = 22 * 128, DIMENSIONS = 256, TILE = 128, DEPTH = 16, THREADS = 256;

static float left_of(size_t i) {
  return float((i * 2654435761u >> 7) % 997) * 0.002f - 1.f;
}

static float right_of(size_t i) {
  return float((i * 2246822519u >> 9) % 1013) * 0.002f - 1.f;
}

__device__ __forceinline__ void fetch(float (*to)[TILE], const float* from, int stride) {
#pragma unroll
  for (int r = 0; r < DEPTH * TILE / 4 / THREADS; ++r) {
    int quad = r * THREADS + threadIdx.x, k = quad / (TILE / 4), at = quad % (TILE / 4) * 4;
    __pipeline_memcpy_async(&to[k][at], from + size_t(k) * stride + at, 16);
  }
}

__global__ __launch_bounds__(THREADS, 2) void blind_l1_distance(const float* __restrict__ left, const float* __restrict__ right,
                                                                float* __restrict__ distances) {
  __shared__ __align__(16) float a[2][DEPTH][TILE], b[2][DEPTH][TILE];
  int column = threadIdx.x % 16 * 4, row = threadIdx.x / 16 * 4;
  left += blockIdx.y * TILE;
  right += blockIdx.x * TILE;
  float sum[8][8] = {};
  fetch(a[0], left, LEFT);
  fetch(b[0], right, RIGHT);
  __pipeline_commit();
  for (int step = 0; step < DIMENSIONS / DEPTH; ++step) {
    int now = step % 2;
    if (step + 1 < DIMENSIONS / DEPTH) {
      fetch(a[now ^ 1], left + size_t(step + 1) * DEPTH * LEFT, LEFT);
      fetch(b[now ^ 1], right + size_t(step + 1) * DEPTH * RIGHT, RIGHT);
    }
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
      float p[8], q[8];
      *reinterpret_cast<float4*>(p) = *reinterpret_cast<float4*>(&a[now][k][row]);
      *reinterpret_cast<float4*>(p + 4) = *reinterpret_cast<float4*>(&a[now][k][row + 64]);
      *reinterpret_cast<float4*>(q) = *reinterpret_cast<float4*>(&b[now][k][column]);
      *reinterpret_cast<float4*>(q + 4) = *reinterpret_cast<float4*>(&b[now][k][column + 64]);
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] += fabsf(p[i] - q[j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      size_t at = size_t(blockIdx.y * TILE + row + i % 4 + i / 4 * 64) * RIGHT + blockIdx.x * TILE + column + half * 64;
      const float* s = &sum[i][half * 4];
      *reinterpret_cast<float4*>(distances + at) = make_float4(s[0], s[1], s[2], s[3]);
    }
}

int main() {
  auto* left = device_array<float>(size_t(LEFT) * DIMENSIONS, left_of);
  auto* right = device_array<float>(size_t(RIGHT) * DIMENSIONS, right_of);
  auto* distances = device_zeros<float>(size_t(LEFT) * RIGHT);
  launch_twice([&] { blind_l1_distance<<<dim3(RIGHT / TILE, LEFT / TILE), THREADS>>>(left, right, distances); });
  bool ok = true;
  for (int i : {0, 69, 1500, LEFT - 1})
    for (int j : {0, 77, 2000, RIGHT - 1}) {
      double expected = 0;
      for (int k = 0; k < DIMENSIONS; ++k)
        expected += std::fabs(left_of((size_t(k) * LEFT + i) % PATTERN) - right_of((size_t(k) * RIGHT + j) % PATTERN));
      ok = ok && close_to(peek(distances, size_t(i) * RIGHT + j), expected);
    }
  return finish(ok);
}

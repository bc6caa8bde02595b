// RMS norm as first written: one block a row, two passes over it with 2-byte scalar loads, a tree reduction in shared memory between.
#include <cuda_bf16.h>

#include "../evidence.cuh"

constexpr int ROWS = 16384, HIDDEN = 4096, THREADS = 256;  // 128 MiB of bf16

__global__ void naive_rmsnorm(const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ weight, __nv_bfloat16* __restrict__ y,
                              float epsilon) {
  __shared__ float part[THREADS];
  const size_t row = size_t(blockIdx.x) * HIDDEN;
  float sum = 0.f;
  for (int j = threadIdx.x; j < HIDDEN; j += THREADS) {
    float v = __bfloat162float(x[row + j]);
    sum += v * v;
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = THREADS / 2; step; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  float scale = rsqrtf(part[0] / HIDDEN + epsilon);
  for (int j = threadIdx.x; j < HIDDEN; j += THREADS)
    y[row + j] = __float2bfloat16(__bfloat162float(x[row + j]) * scale * __bfloat162float(weight[j]));
}

int main() {
  size_t count = size_t(ROWS) * HIDDEN;
  auto* x = device_array<__nv_bfloat16>(count, [](size_t i) { return __float2bfloat16(i % 2 ? 3.f : -3.f); });
  auto* weight = device_array<__nv_bfloat16>(HIDDEN, [](size_t i) { return __float2bfloat16(0.25f * (i % 4 + 1)); });
  auto* y = device_zeros<__nv_bfloat16>(count);
  launch_twice([&] { naive_rmsnorm<<<ROWS, THREADS>>>(x, weight, y, 1e-6f); });
  return finish(close_to(__bfloat162float(peek(y, size_t(777) * HIDDEN + 7)), 1.0, 1e-2));  // 3 / 3 * weight 1
}

// 36 running values under a bound of 32 registers: a third of them and more live in local memory and are loaded and stored in every step
// (360 KB an SM: L1 does not hold them). Beside them four shared loads a step with 16 lanes on a bank, which is second.
#include "../evidence.cuh"

constexpr int THREADS = 1024, HELD = 36, STEPS = 16, TABLE = 1024, LOADS = 4, STRIDE = 16;

__global__ __launch_bounds__(THREADS, 2) void spill_and_conflict(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float table[TABLE];
  const size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  table[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float held[HELD];
#pragma unroll
  for (int j = 0; j < HELD; ++j) held[j] = x[(i + j) & (PATTERN - 1)];
#pragma unroll 1
  for (int step = 0; step < STEPS; ++step) {
    float carry = held[HELD - 1];
#pragma unroll
    for (int k = 0; k < LOADS; ++k) carry += table[(threadIdx.x * STRIDE + step * LOADS + k) % TABLE];
    carry *= 1.f / (LOADS + 1);
#pragma unroll
    for (int j = 0; j < HELD; ++j) {
      const float old = held[j];
      held[j] = old * 0.5f + carry * 0.5f;
      carry = old;
    }
  }
  float sum = 0.f;
#pragma unroll
  for (int j = 0; j < HELD; ++j) sum += held[j] * (j + 1);
  y[i] = sum;
}

int main() {
  const int blocks = sm_count() * 8;
  auto* x = device_array<float>(PATTERN, [](size_t) { return 2.f; });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { spill_and_conflict<<<blocks, THREADS>>>(x, y); });
  return finish(close_to(peek(y, 4321), 2.0 * HELD * (HELD + 1) / 2));
}

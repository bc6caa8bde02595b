// The cure of register_spill: blocks of 128 threads without a second bound, 157 registers, so that all 96 values stay in them. 12 warps an
// SM in place of 64, each with 96 independent updates: 3.3e9 thread instructions of the FMA pipe (0.1 ms) become the limit.
#include "../evidence.cuh"

constexpr int THREADS = 128, HELD = 96, STEPS = 16;

__global__ __launch_bounds__(THREADS) void spill_cured(const float* __restrict__ x, float* __restrict__ y) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float held[HELD];
#pragma unroll
  for (int j = 0; j < HELD; ++j) held[j] = x[(i + j) & (PATTERN - 1)];
#pragma unroll 1
  for (int step = 0; step < STEPS; ++step) {
    float carry = held[HELD - 1];
#pragma unroll
    for (int j = 0; j < HELD; ++j) {
      float old = held[j];
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
  int blocks = sm_count() * 8 * 8;
  auto* x = device_array<float>(PATTERN, [](size_t) { return 2.f; });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { spill_cured<<<blocks, THREADS>>>(x, y); });
  return finish(close_to(peek(y, 4321), 2.0 * HELD * (HELD + 1) / 2));
}

// 96 running values a thread under a launch bound that leaves 32 registers: the compiler keeps most of them in local memory.
#include "../evidence.cuh"

constexpr int THREADS = 1024, HELD = 96, STEPS = 16;

__global__ __launch_bounds__(THREADS, 2) void register_spill(const float* __restrict__ x, float* __restrict__ y) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float held[HELD];
#pragma unroll
  for (int j = 0; j < HELD; ++j) held[j] = x[(i + j) & (PATTERN - 1)];
  for (int step = 0; step < STEPS; ++step) {
    float carry = held[HELD - 1];
#pragma unroll
    for (int j = 0; j < HELD; ++j) {  // each value depends on its neighbour, so none can be dropped or recomputed
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
  int blocks = sm_count() * 8;
  auto* x = device_array<float>(PATTERN, [](size_t) { return 2.f; });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { register_spill<<<blocks, THREADS>>>(x, y); });
  return finish(close_to(peek(y, 4321), 2.0 * HELD * (HELD + 1) / 2));
}

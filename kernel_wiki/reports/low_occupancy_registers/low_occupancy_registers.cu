// 160 independent running values a thread: about 175 registers, so one block of 256 threads fits an SM and the latency of the
// dependent gathers is not hidden.
#include "../evidence.cuh"

constexpr int THREADS = 256, HELD = 160, STEPS = 24;

__global__ __launch_bounds__(THREADS, 1) void low_occupancy_registers(const float* __restrict__ x, const int* __restrict__ next,
                                                                      float* __restrict__ y) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float held[HELD];
#pragma unroll
  for (int j = 0; j < HELD; ++j) held[j] = float(j);
  int at = int(i & (PATTERN - 1));
  for (int step = 0; step < STEPS; ++step) {
    at = next[at];  // the address depends on the last load
    float v = x[at];
#pragma unroll
    for (int j = 0; j < HELD; ++j) held[j] = held[j] * v + 1.f;
  }
  float sum = 0.f;
#pragma unroll
  for (int j = 0; j < HELD; ++j) sum += held[j] * (j + 1);
  y[i] = sum;
}

int main() {
  int blocks = sm_count() * 16;
  auto* x = device_array<float>(PATTERN, [](size_t) { return 0.5f; });
  auto* next = device_array<int>(PATTERN, [](size_t i) { return int((i * 1664525 + 1013904223) % PATTERN); });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { low_occupancy_registers<<<blocks, THREADS>>>(x, next, y); });
  return finish(close_to(peek(y, 4321), 2.0 * HELD * (HELD + 1) / 2));  // every value tends to 2
}

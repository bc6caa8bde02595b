// One chain of dependent FMA a thread, no instruction-level parallelism at all, but 64 warps an SM: 16 a scheduler cover the latency of 4
// cycles four times over, and the FMA pipe is full. More independent work a thread would win nothing.
#include "../evidence.cuh"

constexpr int THREADS = 256, STEPS = 8192;

__global__ __launch_bounds__(THREADS, 8) void low_ilp_high_occupancy(const float* __restrict__ x, float* __restrict__ y, float factor, float term) {
  const size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float value = x[i];
#pragma unroll 32
  for (int step = 0; step < STEPS; ++step) value = fmaf(value, factor, term);
  y[i] = value;
}

int main() {
  const int blocks = sm_count() * 8 * 8;
  const size_t count = size_t(blocks) * THREADS;
  auto* x = device_array<float>(count, [](size_t i) { return float(i % 127); });
  auto* y = device_zeros<float>(count);
  launch_twice([&] { low_ilp_high_occupancy<<<blocks, THREADS>>>(x, y, 0.75f, 1.f); });
  return finish(close_to(peek(y, count - 77), 4.0));
}

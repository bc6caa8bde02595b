// 160 running values a thread: about 175 registers, so one block of 256 threads, eight warps, fits an SM. Each warp waits for one
// coalesced load from DRAM before it updates them, and there are too few warps to cover the wait.
#include "../evidence.cuh"

constexpr int THREADS = 256, HELD = 160, STEPS = 64;

__global__ __launch_bounds__(THREADS, 1) void low_occupancy_registers(const float* __restrict__ x, float* __restrict__ y) {
  const float* in = x + size_t(blockIdx.x) * STEPS * THREADS + threadIdx.x;
  float held[HELD];
#pragma unroll
  for (int j = 0; j < HELD; ++j) held[j] = float(j);
#pragma unroll 1
  for (int step = 0; step < STEPS; ++step) {
    float v = in[step * THREADS];
#pragma unroll
    for (int j = 0; j < HELD; ++j) held[j] = held[j] * v + 1.f;
  }
  float sum = 0.f;
#pragma unroll
  for (int j = 0; j < HELD; ++j) sum += held[j] * (j + 1);
  y[size_t(blockIdx.x) * THREADS + threadIdx.x] = sum;
}

int main() {
  int blocks = sm_count() * 16;
  auto* x = device_array<float>(size_t(blocks) * STEPS * THREADS, [](size_t) { return 0.5f; });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { low_occupancy_registers<<<blocks, THREADS>>>(x, y); });
  return finish(close_to(peek(y, 4321), 2.0 * HELD * (HELD + 1) / 2));  // every value tends to 2
}

// Blocks of one warp: the SM's limit on resident blocks, not registers or shared memory, stops at half the warps.
#include "../evidence.cuh"

constexpr int THREADS = 32, STEPS = 64;

__global__ void low_occupancy_blocksize(const int* __restrict__ next, float* __restrict__ y) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  int at = i & int(PATTERN - 1);
  for (int step = 0; step < STEPS; ++step) at = next[at];
  y[i] = float(at + 1);
}

int main() {
  int blocks = sm_count() * 32 * 8;
  auto* next = device_array<int>(PATTERN, [](size_t i) { return int((i * 1664525 + 1013904223) % PATTERN); });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { low_occupancy_blocksize<<<blocks, THREADS>>>(next, y); });
  return finish(peek(y, 4321) >= 1.f);
}

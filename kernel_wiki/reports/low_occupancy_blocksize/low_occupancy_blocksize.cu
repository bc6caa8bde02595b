// Blocks of one warp: the SM's limit on resident blocks, not registers or shared memory, stops at half the warps. Each has one
// coalesced load from DRAM in flight, too little to cover the memory's latency.
#include "../evidence.cuh"

constexpr int THREADS = 32, STEPS = 64;

__global__ void low_occupancy_blocksize(const float* __restrict__ x, float* __restrict__ y) {
  const float* in = x + size_t(blockIdx.x) * STEPS * THREADS + threadIdx.x;
  float sum = 0.f;
#pragma unroll 1
  for (int step = 0; step < STEPS; ++step) sum = sum * 0.5f + in[step * THREADS];
  y[blockIdx.x * THREADS + threadIdx.x] = sum;
}

int main() {
  int blocks = sm_count() * 32 * 8;
  auto* x = device_array<float>(size_t(blocks) * STEPS * THREADS, [](size_t) { return 0.5f; });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { low_occupancy_blocksize<<<blocks, THREADS>>>(x, y); });
  return finish(close_to(peek(y, 4321), 1.0));  // the sum of 0.5 and its halves
}

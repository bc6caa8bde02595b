// 96 KiB of shared memory for a block of 128 threads: two blocks, eight warps an SM. Each has one coalesced load from DRAM in flight,
// a kilobyte an SM, where the memory's latency asks for twenty times as much.
#include "../evidence.cuh"

constexpr int THREADS = 128, STEPS = 192, SHARED_BYTES = STEPS * THREADS * 4;

__global__ void low_occupancy_shared(const float* __restrict__ x, float* __restrict__ y) {
  extern __shared__ float weight[];
  for (int step = 0; step < STEPS; ++step) weight[step * THREADS + threadIdx.x] = 2.f;
  __syncthreads();
  const float* in = x + size_t(blockIdx.x) * STEPS * THREADS + threadIdx.x;
  float sum = 0.f;
#pragma unroll 1
  for (int step = 0; step < STEPS; ++step) sum += in[step * THREADS] * weight[step * THREADS + threadIdx.x];
  y[blockIdx.x * THREADS + threadIdx.x] = sum;
}

int main() {
  int blocks = sm_count() * 16;
  auto* x = device_array<float>(size_t(blocks) * STEPS * THREADS, [](size_t) { return 0.5f; });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  CUDA_CHECK(cudaFuncSetAttribute(low_occupancy_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
  launch_twice([&] { low_occupancy_shared<<<blocks, THREADS, SHARED_BYTES>>>(x, y); });
  return finish(peek(y, 4321) == float(STEPS));
}

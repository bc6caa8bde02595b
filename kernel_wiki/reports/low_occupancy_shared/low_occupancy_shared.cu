// 96 KiB of shared memory for a block of 128 threads: two blocks, eight warps an SM, too few to hide dependent gathers.
#include "../evidence.cuh"

constexpr int THREADS = 128, SHARED_BYTES = 96 * 1024, STEPS = 64;

__global__ void low_occupancy_shared(const int* __restrict__ next, float* __restrict__ y) {
  extern __shared__ float table[];
  for (int j = threadIdx.x; j < SHARED_BYTES / 4; j += THREADS) table[j] = 1.f;
  __syncthreads();
  int at = int((blockIdx.x * THREADS + threadIdx.x) & (PATTERN - 1));
  float sum = 0.f;
  for (int step = 0; step < STEPS; ++step) {
    at = next[at];
    sum += table[at % (SHARED_BYTES / 4)];
  }
  y[blockIdx.x * THREADS + threadIdx.x] = sum;
}

int main() {
  int blocks = sm_count() * 16;
  auto* next = device_array<int>(PATTERN, [](size_t i) { return int((i * 1664525 + 1013904223) % PATTERN); });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  CUDA_CHECK(cudaFuncSetAttribute(low_occupancy_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
  launch_twice([&] { low_occupancy_shared<<<blocks, THREADS, SHARED_BYTES>>>(next, y); });
  return finish(peek(y, 4321) == float(STEPS));
}

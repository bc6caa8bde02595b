// The cure of low_occupancy_shared: the weights pass through a tile of 8 KiB, twelve times refilled, in place of 96 KiB held at once. 16
// blocks, 64 warps fit an SM: still one load a warp in flight, but eight kilobytes an SM in place of one.
#include "../evidence.cuh"

constexpr int THREADS = 128, STEPS = 192, TILE = 16;

__global__ void occupancy_shared_cured(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float weight[TILE * THREADS];
  const float* in = x + size_t(blockIdx.x) * STEPS * THREADS + threadIdx.x;
  float sum = 0.f;
#pragma unroll 1
  for (int from = 0; from < STEPS; from += TILE) {
    for (int step = 0; step < TILE; ++step) weight[step * THREADS + threadIdx.x] = 2.f;
    __syncthreads();
#pragma unroll 1
    for (int step = 0; step < TILE; ++step) sum += in[(from + step) * THREADS] * weight[step * THREADS + threadIdx.x];
    __syncthreads();
  }
  y[blockIdx.x * THREADS + threadIdx.x] = sum;
}

int main() {
  int blocks = sm_count() * 16;
  auto* x = device_array<float>(size_t(blocks) * STEPS * THREADS, [](size_t) { return 0.5f; });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  CUDA_CHECK(cudaFuncSetAttribute(occupancy_shared_cured, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  launch_twice([&] { occupancy_shared_cured<<<blocks, THREADS>>>(x, y); });
  return finish(peek(y, 4321) == float(STEPS));
}

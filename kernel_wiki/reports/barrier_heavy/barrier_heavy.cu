// An iteration whose scalar step belongs to thread 0: it adds the 32 warp sums and takes a cube root by Newton's method, between two
// barriers at which the other 31 warps of the block wait.
#include "../evidence.cuh"

constexpr int THREADS = 1024, WARPS = THREADS / 32, ROUNDS = 256, NEWTON_STEPS = 6;

__device__ float cube_root(float value, float guess) {
#pragma unroll 1
  for (int step = 0; step < NEWTON_STEPS; ++step) guess = (2.f * guess + value / (guess * guess)) / 3.f;
  return guess;
}

__global__ void barrier_heavy(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float part[WARPS], shared_level;
  const float own = x[size_t(blockIdx.x) * THREADS + threadIdx.x];
  float level = 16.f;
  for (int round = 0; round < ROUNDS; ++round) {  // level^3 = level * total, so that level tends to the root of the total
    float sum = own * level;
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      float total = 0.f;
      for (int warp = 0; warp < WARPS; ++warp) total += part[warp];
      shared_level = cube_root(total, level);
    }
    __syncthreads();
    level = shared_level;
  }
  if (threadIdx.x == 0) y[blockIdx.x] = level;
}

int main() {
  int blocks = sm_count() * 16;
  auto* x = device_array<float>(size_t(blocks) * THREADS, [](size_t i) { return float(i % 4 + 1); });
  auto* y = device_zeros<float>(blocks);
  launch_twice([&] { barrier_heavy<<<blocks, THREADS>>>(x, y); });
  return finish(close_to(peek(y, 5), std::sqrt(2.5 * THREADS)));  // the mean of 1, 2, 3, 4 is 2.5
}

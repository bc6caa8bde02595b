// Block reduction as a tree in shared memory with a barrier at each of ten levels: warps wait for each other more than they add.
#include "../evidence.cuh"

constexpr int THREADS = 1024, ROUNDS = 32;

__global__ void barrier_heavy(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float part[THREADS];
  float total = 0.f;
  for (int round = 0; round < ROUNDS; ++round) {
    part[threadIdx.x] = x[(size_t(blockIdx.x) * ROUNDS + round) * THREADS + threadIdx.x];
    __syncthreads();
    for (int step = THREADS / 2; step; step /= 2) {
      if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
      __syncthreads();
    }
    total += part[0];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = total;
}

int main() {
  int blocks = sm_count() * 16;
  auto* x = device_array<float>(size_t(blocks) * ROUNDS * THREADS, [](size_t i) { return float(i % 3); });
  auto* y = device_zeros<float>(blocks);
  launch_twice([&] { barrier_heavy<<<blocks, THREADS>>>(x, y); });
  return finish(close_to(peek(y, 5), double(ROUNDS) * THREADS, 1e-2));  // the mean of 0, 1, 2 is 1
}

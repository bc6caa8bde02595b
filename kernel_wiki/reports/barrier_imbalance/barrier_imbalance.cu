// In every round one warp of 32 does a chain of 512 FMA while the 31 others wait for it at the barrier, and the turn goes round: the SM is
// idle most of the time, and nearly all of the waiting is at the barrier. The blocks are equal, so no SM ends before the others.
#include "../evidence.cuh"

constexpr int THREADS = 1024, WARPS = THREADS / 32, ROUNDS = 64, CHAIN = 512;

__global__ __launch_bounds__(THREADS, 2) void barrier_imbalance(float* __restrict__ y, float factor, float term) {
  __shared__ float baton;
  if (threadIdx.x == 0) baton = float(blockIdx.x % 7);
  __syncthreads();
  float value = float(threadIdx.x);
  for (int round = 0; round < ROUNDS; ++round) {
    if (threadIdx.x / 32 == round % WARPS) {
#pragma unroll 32
      for (int i = 0; i < CHAIN; ++i) value = fmaf(value, factor, term);
      if (threadIdx.x % 32 == 0) baton += value;
    }
    __syncthreads();
    value += baton;
    __syncthreads();
  }
  y[size_t(blockIdx.x) * THREADS + threadIdx.x] = value;
}

int main() {
  const int blocks = sm_count() * 2 * 4;
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { barrier_imbalance<<<blocks, THREADS>>>(y, 0.5f, 1.f); });  // a chain ends at 2 whatever it starts from
  double baton = 3, after = THREADS - 1;  // block 3, its last thread
  for (int round = 0; round < ROUNDS; ++round) {
    if (round % WARPS == WARPS - 1) after = 2;
    baton += 2;
    after += baton;
  }
  return finish(close_to(peek(y, size_t(3) * THREADS + THREADS - 1), after));
}

// How a block reduction does without the barriers of barrier_heavy: every thread adds its own elements in a register, shuffles combine them,
// and one barrier a block is left instead of 12 a round. Plain sums and not the log-sum-exp of barrier_heavy, so the times do not compare;
// what is cured is the waiting at barriers and the round trips through shared memory, and DRAM becomes the limit (89 % of its peak).
#include "../evidence.cuh"

constexpr int THREADS = 1024, ROUNDS = 32;

__device__ float warp_sum(float value) {
  for (int step = 16; step; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
  return value;
}

__global__ void reduction_shuffle(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float part[THREADS / 32];
  float sum = 0.f;
#pragma unroll 8
  for (int round = 0; round < ROUNDS; ++round) sum += x[(size_t(blockIdx.x) * ROUNDS + round) * THREADS + threadIdx.x];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warp_sum(part[threadIdx.x]);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
  }
}

int main() {
  int blocks = sm_count() * 16;
  auto* x = device_array<float>(size_t(blocks) * ROUNDS * THREADS, [](size_t i) { return float(i % 3); });
  auto* y = device_zeros<float>(blocks);
  launch_twice([&] { reduction_shuffle<<<blocks, THREADS>>>(x, y); });
  return finish(close_to(peek(y, 5), double(ROUNDS) * THREADS, 1e-2));
}

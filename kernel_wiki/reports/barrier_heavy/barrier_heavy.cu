// Block reduction of log-sum-exp pairs as a tree in shared memory with a barrier at each of ten levels: in most levels a few warps
// combine pairs and all the others wait for them.
#include "../evidence.cuh"

constexpr int THREADS = 1024, ROUNDS = 32;

__device__ float2 combine(float2 a, float2 b) {  // x is the largest value, y the sum of exp(value - largest)
  float largest = fmaxf(a.x, b.x);
  return make_float2(largest, a.y * __expf(a.x - largest) + b.y * __expf(b.x - largest));
}

__global__ void barrier_heavy(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float2 part[THREADS];
  const float* in = x + size_t(blockIdx.x) * ROUNDS * THREADS + threadIdx.x;
  float total = 0.f, next = in[0];
  for (int round = 0; round < ROUNDS; ++round) {
    part[threadIdx.x] = make_float2(next, 1.f);
    if (round + 1 < ROUNDS) next = in[(round + 1) * THREADS];  // in flight during the reduction
    __syncthreads();
    for (int step = THREADS / 2; step; step /= 2) {
      if (threadIdx.x < step) part[threadIdx.x] = combine(part[threadIdx.x], part[threadIdx.x + step]);
      __syncthreads();
    }
    total += part[0].x + __logf(part[0].y);
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = total;
}

int main() {
  int blocks = sm_count() * 16;
  auto* x = device_array<float>(size_t(blocks) * ROUNDS * THREADS, [](size_t i) { return float(i % 2); });
  auto* y = device_zeros<float>(blocks);
  launch_twice([&] { barrier_heavy<<<blocks, THREADS>>>(x, y); });
  return finish(close_to(peek(y, 5), ROUNDS * std::log(THREADS / 2 * (1. + std::exp(1.)))));
}

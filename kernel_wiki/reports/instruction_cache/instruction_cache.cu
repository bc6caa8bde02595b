// Straight-line code of more than 300 KB, one warp a scheduler: fetching instructions takes longer than executing them.
#include "../evidence.cuh"

constexpr int THREADS = 128, ROUNDS = 4, LENGTH = 20000;

template <int FROM, int COUNT>
__device__ __forceinline__ float steps(float a, float b) {
  if constexpr (COUNT <= 8) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) a = fmaf(a, b, float(FROM + i) * 1e-6f);  // a different constant each: nothing can be rolled up
    return a;
  } else {
    a = steps<FROM, COUNT / 2>(a, b);
    return steps<FROM + COUNT / 2, COUNT - COUNT / 2>(a, b);
  }
}

__global__ void instruction_cache(float* __restrict__ y, float factor) {
  float a = threadIdx.x;
#pragma unroll 1
  for (int round = 0; round < ROUNDS; ++round) a = steps<0, LENGTH>(a, factor);
  y[blockIdx.x * THREADS + threadIdx.x] = a;
}

int main() {
  int blocks = sm_count();
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { instruction_cache<<<blocks, THREADS>>>(y, 0.5f); });
  return finish(close_to(peek(y, 77), 2e-6 * (LENGTH - 2)));  // a = a / 2 + c with c growing by 1e-6 a step
}

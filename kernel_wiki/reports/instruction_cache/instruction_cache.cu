// Each of the 16 warps of a block runs straight-line code of its own, more than 300 KB together: the warps of an SM keep evicting
// each other's instructions, and fetching them takes longer than executing them.
#include "../evidence.cuh"

constexpr int THREADS = 512, VARIANTS = THREADS / 32, ROUNDS = 16, LENGTH = 1250;

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

template <int VARIANT = 0>
__device__ __forceinline__ float run(int variant, float a, float b) {
  if constexpr (VARIANT < VARIANTS) {
    if (variant != VARIANT) return run<VARIANT + 1>(variant, a, b);
#pragma unroll 1
    for (int round = 0; round < ROUNDS; ++round) a = steps<VARIANT * LENGTH, LENGTH>(a, b);
  }
  return a;
}

__global__ void instruction_cache(float* __restrict__ y, float factor) {
  y[blockIdx.x * THREADS + threadIdx.x] = run(threadIdx.x / 32, float(threadIdx.x), factor);
}

int main() {
  int blocks = sm_count() * 4 * 2;
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { instruction_cache<<<blocks, THREADS>>>(y, 0.5f); });
  return finish(close_to(peek(y, 77), 2e-6 * (3 * LENGTH - 2)));  // warp 2: a = a / 2 + c with c growing by 1e-6 a step
}

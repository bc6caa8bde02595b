// Each of the 16 warps of a block runs straight-line code of its own, more than 300 KB together: the warps of an SM keep evicting
// each other's instructions, and fetching them takes longer than executing them.
#include "../evidence.cuh"

constexpr int THREADS = 512, VARIANTS = THREADS / 32, ROUNDS = 16, LENGTH = 625;

template <int FROM, int COUNT>
static __device__ __forceinline__ float steps(float a, float b, float scale) {
  if constexpr (COUNT <= 8) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) a = fmaf(a, b, float(FROM + i) * scale);  // a different constant each: nothing can be rolled up
    return a;
  } else {
    a = steps<FROM, COUNT / 2>(a, b, scale);
    return steps<FROM + COUNT / 2, COUNT - COUNT / 2>(a, b, scale);
  }
}

template <int VARIANT = 0>
static __device__ __forceinline__ float run(int variant, float a, float b, float scale) {
  if constexpr (VARIANT < VARIANTS) {
    if (variant != VARIANT) return run<VARIANT + 1>(variant, a, b, scale);
#pragma unroll 1
    for (int round = 0; round < ROUNDS; ++round, scale *= b) a = steps<VARIANT * LENGTH, LENGTH>(a, b, scale);
  }
  return a;
}

__global__ __launch_bounds__(THREADS, 4) void instruction_cache(const float* __restrict__ rule, float* __restrict__ y) {
  y[blockIdx.x * THREADS + threadIdx.x] = run(threadIdx.x / 32, float(threadIdx.x), rule[0], rule[1]);
}

int main() {
  int blocks = sm_count() * 4 * 2;
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  auto* rule = device_array<float>(2, [](size_t i) { return i ? 32.768f : 0.5f; });
  launch_twice([&] { instruction_cache<<<blocks, THREADS>>>(rule, y); });
  return finish(close_to(peek(y, 77), 2e-3 * (3 * LENGTH - 2)));  // warp 2, last round: a = a / 2 + c with c growing by 1e-3 a step
}

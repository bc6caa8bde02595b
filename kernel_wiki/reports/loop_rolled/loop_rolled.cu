// The cure of instruction_cache: the constants follow a rule, so one loop of 25 steps (under 1 KB) serves every warp. The same two
// instructions a step from a body that stays in the instruction cache: the FMA pipe becomes the limit.
#include "../evidence.cuh"

constexpr int THREADS = 512, ROUNDS = 16, LENGTH = 625, UNROLL = 25;

__global__ __launch_bounds__(THREADS, 4) void loop_rolled(const float* __restrict__ rule, float* __restrict__ y) {
  float factor = rule[0], scale = rule[1], a = float(threadIdx.x), first = float(threadIdx.x / 32 * LENGTH);
#pragma unroll 1
  for (int round = 0; round < ROUNDS; ++round, scale *= factor) {
    float base = first * scale;
#pragma unroll 1
    for (int from = 0; from < LENGTH; from += UNROLL) {
#pragma unroll
      for (int i = 0; i < UNROLL; ++i) a = fmaf(a, factor, fmaf(float(i), scale, base));
      base = fmaf(float(UNROLL), scale, base);
    }
  }
  y[blockIdx.x * THREADS + threadIdx.x] = a;
}

int main() {
  int blocks = sm_count() * 4 * 2;
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  auto* rule = device_array<float>(2, [](size_t i) { return i ? 32.768f : 0.5f; });
  launch_twice([&] { loop_rolled<<<blocks, THREADS>>>(rule, y); });
  return finish(close_to(peek(y, 77), 2e-3 * (3 * LENGTH - 2)));
}

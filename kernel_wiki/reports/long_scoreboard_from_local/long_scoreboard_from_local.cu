// 40 running values a thread under a bound of 32 registers: each step reads and writes the spilled ones, and the warps wait for them. The
// long-scoreboard stalls come from local memory alone (the inputs are read once), so the spill is what an expert names first.
#include "../evidence.cuh"

constexpr int THREADS = 1024, HELD = 40, STEPS = 24;

__global__ __launch_bounds__(THREADS, 2) void long_scoreboard_from_local(const float* __restrict__ x, float* __restrict__ y, float keep, float pass) {
  const size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float held[HELD];
#pragma unroll
  for (int j = 0; j < HELD; ++j) held[j] = x[(i + j) & (PATTERN - 1)];
#pragma unroll 1
  for (int step = 0; step < STEPS; ++step) {
    float carry = held[HELD - 1];
#pragma unroll
    for (int j = 0; j < HELD; ++j) {
      carry = fmaf(carry, pass, held[j] * keep);  // each value needs the one before: a spilled one holds up all that follow
      held[j] = carry;
    }
  }
  float sum = 0.f;
#pragma unroll
  for (int j = 0; j < HELD; ++j) sum += held[j] * (j + 1);
  y[i] = sum;
}

int main() {
  const int blocks = sm_count() * 2 * 3;
  auto* x = device_array<float>(PATTERN, [](size_t) { return 2.f; });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { long_scoreboard_from_local<<<blocks, THREADS>>>(x, y, 0.75f, 0.25f); });
  return finish(close_to(peek(y, 4321), 2.0 * HELD * (HELD + 1) / 2));
}

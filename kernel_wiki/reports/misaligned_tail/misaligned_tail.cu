// Scale of an fp32 array that starts 4 bytes off a sector, by 2.25 blocks an SM where two fit: the last quarter of a block an SM runs alone
// on a quarter of the SMs, which costs about a third of the time. Each request touches five sectors instead of four: second, L1 and L2
// absorb most of it.
#include "../evidence.cuh"

constexpr int THREADS = 1024, ROUNDS = 104, UNROLL = 4, OFFSET = 1;

__global__ __launch_bounds__(THREADS, 2) void misaligned_tail(const float* __restrict__ x, float* __restrict__ y, float factor) {
  const size_t base = size_t(blockIdx.x) * ROUNDS * THREADS + threadIdx.x + OFFSET;
#pragma unroll 1
  for (int round = 0; round < ROUNDS; round += UNROLL) {
    float held[UNROLL];
#pragma unroll
    for (int i = 0; i < UNROLL; ++i) held[i] = x[base + size_t(round + i) * THREADS];
#pragma unroll
    for (int i = 0; i < UNROLL; ++i) y[base + size_t(round + i) * THREADS] = held[i] * factor;
  }
}

int main() {
  const int blocks = sm_count() * 2 + sm_count() / 4;
  const size_t count = size_t(blocks) * ROUNDS * THREADS + OFFSET;
  auto* x = device_array<float>(count, [](size_t i) { return float(i % 1021) + 1.f; });
  auto* y = device_zeros<float>(count);
  launch_twice([&] { misaligned_tail<<<blocks, THREADS>>>(x, y, 3.f); });
  return finish(peek(y, count - 1) == 3.f * peek(x, count - 1) && peek(y, 0) == 0.f);
}

// 20.25 waves of short, equal blocks: the partial last wave costs at most 3.6 % of the time and must not be named. Logistic maps, four a
// thread, keep the FMA pipe near its limit.
#include "../evidence.cuh"

constexpr int THREADS = 256, BLOCKS_PER_SM = 8, WAVES = 20, STEPS = 256, VALUES = 4;

static __device__ float logistic(float x, float rate) { return rate * fmaf(-x, x, x); }

__global__ __launch_bounds__(THREADS, BLOCKS_PER_SM) void many_waves_tail(const float* __restrict__ x, float* __restrict__ y, float rate) {
  const size_t base = size_t(blockIdx.x) * THREADS * VALUES + threadIdx.x;
  float value[VALUES];
#pragma unroll
  for (int i = 0; i < VALUES; ++i) value[i] = x[base + i * THREADS];
#pragma unroll 16
  for (int step = 0; step < STEPS; ++step)
#pragma unroll
    for (int i = 0; i < VALUES; ++i) value[i] = logistic(value[i], rate);
#pragma unroll
  for (int i = 0; i < VALUES; ++i) y[base + i * THREADS] = value[i];
}

int main() {
  const int wave = sm_count() * BLOCKS_PER_SM, blocks = wave * WAVES + wave / 4;
  const size_t count = size_t(blocks) * THREADS * VALUES;
  auto* x = device_array<float>(count, [](size_t i) { return float(i % 251) / 252.f + 0.003f; });
  auto* y = device_zeros<float>(count);
  launch_twice([&] { many_waves_tail<<<blocks, THREADS>>>(x, y, 2.5f); });
  return finish(close_to(peek(y, count - 77), 0.6));  // the fixed point 1 - 1 / rate
}

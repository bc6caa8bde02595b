// The cure of dependency_chain: the loops change places, so that a step advances all eight series of a thread and the next FMA never
// needs the last one. The same warp a scheduler issues in nearly every cycle: a quarter of the time, with the FMA pipe as the limit.
#include "../evidence.cuh"

constexpr int THREADS = 128, STEPS = 16384, SERIES = 8;

__global__ void dependency_interleaved(const float* __restrict__ x, float* __restrict__ y, float term) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x, count = size_t(gridDim.x) * THREADS;
  float factor[SERIES], a[SERIES] = {};
#pragma unroll
  for (int s = 0; s < SERIES; ++s) factor[s] = x[s * count + i];
#pragma unroll 16
  for (int step = 0; step < STEPS; ++step)
#pragma unroll
    for (int s = 0; s < SERIES; ++s) a[s] = fmaf(a[s], factor[s], term);
#pragma unroll
  for (int s = 0; s < SERIES; ++s) y[s * count + i] = a[s];
}

int main() {
  int blocks = sm_count();
  size_t count = size_t(blocks) * THREADS * SERIES;
  auto value = [](size_t i) { return 0.25f + 0.5f * float(i % 97) / 97; };
  auto* x = device_array<float>(count, value);
  auto* y = device_zeros<float>(count);
  launch_twice([&] { dependency_interleaved<<<blocks, THREADS>>>(x, y, 3.f); });
  return finish(close_to(peek(y, 54321), 3 / (1.0 - value(54321))));
}

// Eight series a thread, one after the other, on one warp a scheduler (a block of four warps an SM): every FMA needs the one before it
// and waits its fixed four cycles, so that a scheduler issues in one cycle of four and three quarters of the time are `wait`.
#include "../evidence.cuh"

constexpr int THREADS = 128, STEPS = 16384, SERIES = 8;

__global__ void dependency_chain(const float* __restrict__ x, float* __restrict__ y, float term) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x, count = size_t(gridDim.x) * THREADS;
#pragma unroll 1
  for (int s = 0; s < SERIES; ++s) {
    float factor = x[s * count + i], a = 0.f;
#pragma unroll 32
    for (int step = 0; step < STEPS; ++step) a = fmaf(a, factor, term);
    y[s * count + i] = a;
  }
}

int main() {
  int blocks = sm_count();
  size_t count = size_t(blocks) * THREADS * SERIES;
  auto value = [](size_t i) { return 0.25f + 0.5f * float(i % 97) / 97; };
  auto* x = device_array<float>(count, value);
  auto* y = device_zeros<float>(count);
  launch_twice([&] { dependency_chain<<<blocks, THREADS>>>(x, y, 3.f); });
  return finish(close_to(peek(y, 54321), 3 / (1.0 - value(54321))));  // the fixed point of a = a x + 3
}

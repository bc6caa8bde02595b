// Independent chains of exponentials: the special-function unit (XU pipe) issues a quarter of the FMA rate or less and is the limit.
#include "../evidence.cuh"

constexpr int THREADS = 256, STEPS = 512, CHAINS = 4;

__global__ void sfu_exp(const float* __restrict__ x, float* __restrict__ y) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float a[CHAINS];
  for (int c = 0; c < CHAINS; ++c) a[c] = x[i & (PATTERN - 1)] + c * 0.01f;
  for (int step = 0; step < STEPS; ++step)
    for (int c = 0; c < CHAINS; ++c) asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(a[c]) : "f"(-a[c]));
  y[i] = a[0] + a[1] + a[2] + a[3];
}

int main() {
  int blocks = sm_count() * 8 * 4;
  auto* x = device_array<float>(PATTERN, [](size_t i) { return float(i % 17) * 0.05f; });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { sfu_exp<<<blocks, THREADS>>>(x, y); });
  return finish(close_to(peek(y, 4321), 4 * 0.641186));  // x = 2^-x at 0.641186
}

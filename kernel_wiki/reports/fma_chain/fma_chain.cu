// Eight independent FMA chains a thread at full occupancy: the FMA pipe issues every cycle and nothing else is busy.
#include "../evidence.cuh"

constexpr int THREADS = 256, STEPS = 2048, CHAINS = 8;

__global__ void fma_chain(float* __restrict__ y, float factor, float term) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float a[CHAINS];
  for (int c = 0; c < CHAINS; ++c) a[c] = float(threadIdx.x + c);
  for (int step = 0; step < STEPS; ++step)
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) a[c] = fmaf(a[c], factor, term);
  float sum = 0.f;
  for (int c = 0; c < CHAINS; ++c) sum += a[c];
  y[i] = sum;
}

int main() {
  int blocks = sm_count() * 8 * 4;
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { fma_chain<<<blocks, THREADS>>>(y, 0.5f, 1.f); });
  return finish(close_to(peek(y, 4321), 2.0 * CHAINS));
}

// A simulation that stores its state at every step and calls __threadfence() after each store, although nobody reads before the end: each
// step waits until the store has reached the L2, many hundred cycles, for eight dependent FMAs (about 32 cycles) of work.
#include "../evidence.cuh"

constexpr int THREADS = 256, STEPS = 64, SUBSTEPS = 8;

// trace[step][i] = state of item i after `step` steps of SUBSTEPS relaxations towards 2.
__global__ __launch_bounds__(THREADS, 8) void fence_every_step(float* __restrict__ trace, float factor) {
  const size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x, items = size_t(gridDim.x) * THREADS;
  float state = float(i % 1024);
  for (int step = 0; step < STEPS; ++step) {
#pragma unroll
    for (int j = 0; j < SUBSTEPS; ++j) state = state * factor + 1.f;
    trace[step * items + i] = state;
    __threadfence();
  }
}

int main() {
  const int blocks = sm_count() * 8;
  const size_t items = size_t(blocks) * THREADS;
  auto* trace = device_zeros<float>(items * STEPS);  // 66 MiB on 132 SMs
  launch_twice([&] { fence_every_step<<<blocks, THREADS>>>(trace, 0.5f); });
  return finish(close_to(peek(trace, 770), 2 + 768. / 256) && close_to(peek(trace, items * (STEPS - 1) + 770), 2));
}

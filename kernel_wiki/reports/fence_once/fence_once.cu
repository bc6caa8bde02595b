// The cure of fence_every_step: the same stores, one fence after the last. The stores of all steps are on their way together, the membar
// stall should vanish, and the time should approach that of writing 66 MiB.
#include "../evidence.cuh"

constexpr int THREADS = 256, STEPS = 64, SUBSTEPS = 8;

// trace[step][i] = state of item i after `step` steps of SUBSTEPS relaxations towards 2.
__global__ __launch_bounds__(THREADS, 8) void fence_once(float* __restrict__ trace, float factor) {
  const size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x, items = size_t(gridDim.x) * THREADS;
  float state = float(i % 1024);
  for (int step = 0; step < STEPS; ++step) {
#pragma unroll
    for (int j = 0; j < SUBSTEPS; ++j) state = state * factor + 1.f;
    trace[step * items + i] = state;
  }
  __threadfence();
}

int main() {
  const int blocks = sm_count() * 8;
  const size_t items = size_t(blocks) * THREADS;
  auto* trace = device_zeros<float>(items * STEPS);  // 66 MiB on 132 SMs
  launch_twice([&] { fence_once<<<blocks, THREADS>>>(trace, 0.5f); });
  return finish(close_to(peek(trace, 770), 2 + 768. / 256) && close_to(peek(trace, items * (STEPS - 1) + 770), 2));
}

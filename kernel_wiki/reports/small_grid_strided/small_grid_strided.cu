// 16 blocks on 132 SMs read one field of 32-byte records, one load in flight a thread: most of the GPU is empty and DRAM near a fifth, so
// the grid is first. Each request moves 32 sectors where 4 would do, which the busy SMs feel: second.
#include "../evidence.cuh"

constexpr int THREADS = 1024, STEPS = 384, FIELDS = 8;

__global__ __launch_bounds__(THREADS) void small_grid_strided(const float* __restrict__ x, float* __restrict__ y) {
  const float* in = x + (size_t(blockIdx.x) * STEPS * THREADS + threadIdx.x) * FIELDS;
  float sum = 0.f;
#pragma unroll 1
  for (int step = 0; step < STEPS; ++step) sum += in[size_t(step) * THREADS * FIELDS];
  y[size_t(blockIdx.x) * THREADS + threadIdx.x] = sum;
}

int main() {
  const int blocks = sm_count() / 8;
  auto* x = device_array<float>(size_t(blocks) * STEPS * THREADS * FIELDS, [](size_t i) { return float(i / FIELDS % 2) + 1.f; });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { small_grid_strided<<<blocks, THREADS>>>(x, y); });
  return finish(close_to(peek(y, 4321), 2. * STEPS));
}

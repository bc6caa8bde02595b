// The cure of low_occupancy_registers: eight threads share the 160 values of a column, 20 each, so that 32 registers suffice and 64 warps
// fit an SM in place of 8. Seven of eight loads hit in L1. The loads in flight to DRAM stay as they were, their wait is covered better: 16
// warps a scheduler bring 400 cycles of work to a wait of some 650 where two brought 330 and idled through most of it together.
#include "../evidence.cuh"

constexpr int COLUMNS = 256, HELD = 160, STEPS = 64, PARTS = 8, PART = HELD / PARTS, WIDE = 128, THREADS = WIDE * PARTS;

__global__ __launch_bounds__(THREADS, 2) void occupancy_registers_cured(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float partial[PARTS][WIDE];
  int lane = threadIdx.x % WIDE, part = threadIdx.x / WIDE, column = blockIdx.x % (COLUMNS / WIDE) * WIDE + lane;
  size_t row = blockIdx.x / (COLUMNS / WIDE);
  const float* in = x + row * STEPS * COLUMNS + column;
  float held[PART];
#pragma unroll
  for (int j = 0; j < PART; ++j) held[j] = float(part * PART + j);
#pragma unroll 1
  for (int step = 0; step < STEPS; ++step) {
    float v = in[step * COLUMNS];
#pragma unroll
    for (int j = 0; j < PART; ++j) held[j] = held[j] * v + 1.f;
  }
  float sum = 0.f;
#pragma unroll
  for (int j = 0; j < PART; ++j) sum += held[j] * (part * PART + j + 1);
  partial[part][lane] = sum;
  __syncthreads();
  if (part) return;
#pragma unroll
  for (int p = 1; p < PARTS; ++p) sum += partial[p][lane];
  y[row * COLUMNS + column] = sum;
}

int main() {
  int rows = sm_count() * 16;
  auto* x = device_array<float>(size_t(rows) * STEPS * COLUMNS, [](size_t) { return 0.5f; });
  auto* y = device_zeros<float>(size_t(rows) * COLUMNS);
  launch_twice([&] { occupancy_registers_cured<<<rows * (COLUMNS / WIDE), THREADS>>>(x, y); });
  return finish(close_to(peek(y, 4321), 2.0 * HELD * (HELD + 1) / 2));  // every value tends to 2
}

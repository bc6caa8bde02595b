// A thread sums its own row of 16 floats word by word: the lanes are 64 bytes apart, every request touches 32 sectors in 16 lines, and yet
// DRAM reads every byte once, since L1 keeps the lines (128 KB an SM) until the row is through. L1 does the eight-fold work and is the
// limit.
#include "../evidence.cuh"

constexpr int COLUMNS = 16, THREADS = 256;

__global__ __launch_bounds__(THREADS) void column_walk(const float* __restrict__ x, float* __restrict__ y) {
  const size_t row = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float sum = 0.f;
#pragma unroll
  for (int j = 0; j < COLUMNS; ++j) sum += x[row * COLUMNS + j] * (j + 1);
  y[row] = sum;
}

int main() {
  const int blocks = sm_count() * 8 * 16;
  auto* x = device_array<float>(size_t(blocks) * THREADS * COLUMNS, [](size_t i) { return float(i / COLUMNS % 5); });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { column_walk<<<blocks, THREADS>>>(x, y); });
  return finish(close_to(peek(y, 4321), 4321 % 5 * COLUMNS * (COLUMNS + 1) / 2.0));
}

// Softmax with one thread a row and three passes: neighbouring lanes are a whole row apart, so every load touches 32 sectors.
#include "../evidence.cuh"

constexpr int ROWS = 65536, COLUMNS = 512;  // 128 MiB

__global__ void naive_softmax(const float* __restrict__ x, float* __restrict__ y) {
  const float* in = x + size_t(blockIdx.x * blockDim.x + threadIdx.x) * COLUMNS;
  float* out = y + (in - x);
  float largest = -INFINITY, sum = 0.f;
  for (int j = 0; j < COLUMNS; ++j) largest = fmaxf(largest, in[j]);
  for (int j = 0; j < COLUMNS; ++j) sum += expf(in[j] - largest);
  for (int j = 0; j < COLUMNS; ++j) out[j] = expf(in[j] - largest) / sum;
}

int main() {
  auto* x = device_array<float>(size_t(ROWS) * COLUMNS, [](size_t i) { return float(i % 97) * 0.05f; });
  auto* y = device_zeros<float>(size_t(ROWS) * COLUMNS);
  launch_twice([&] { naive_softmax<<<ROWS / 256, 256>>>(x, y); });
  double sum = 0;
  for (int j = 0; j < COLUMNS; ++j) sum += peek(y, size_t(777) * COLUMNS + j);
  return finish(close_to(sum, 1.0));
}

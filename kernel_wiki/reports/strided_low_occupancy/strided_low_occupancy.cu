// One field of 32-byte records: the lanes are a record apart, so every load moves eight times the bytes that it uses (276 MB for 35 MB),
// two loads in flight a thread, near two thirds of DRAM's speed. 160 running values a thread leave eight warps an SM, too few to close the
// rest: second.
#include "../evidence.cuh"

constexpr int THREADS = 256, HELD = 160, STEPS = 16, FIELDS = 8;

__global__ __launch_bounds__(THREADS, 1) void strided_low_occupancy(const float* __restrict__ x, float* __restrict__ y) {
  const float* in = x + (size_t(blockIdx.x) * STEPS * 2 * THREADS + threadIdx.x) * FIELDS;
  float held[HELD];
#pragma unroll
  for (int j = 0; j < HELD; ++j) held[j] = float(j);
#pragma unroll 1
  for (int step = 0; step < STEPS; ++step) {
    const float factor = in[size_t(step) * 2 * THREADS * FIELDS], term = in[(size_t(step) * 2 + 1) * THREADS * FIELDS];
#pragma unroll
    for (int j = 0; j < HELD; ++j) held[j] = held[j] * factor + term;
  }
  float sum = 0.f;
#pragma unroll
  for (int j = 0; j < HELD; ++j) sum += held[j] * (j + 1);
  y[size_t(blockIdx.x) * THREADS + threadIdx.x] = sum;
}

int main() {
  const int blocks = sm_count() * 8;
  auto* x = device_array<float>(size_t(blocks) * STEPS * 2 * THREADS * FIELDS, [](size_t i) { return float(i / FIELDS % 4) * 0.125f; });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { strided_low_occupancy<<<blocks, THREADS>>>(x, y); });
  const size_t thread = 4321, block = thread / THREADS;
  double expected = 0;
  for (int j = 0; j < HELD; ++j) {
    double value = j;
    for (int step = 0; step < STEPS; ++step) {
      const size_t record = (block * STEPS + step) * 2 * THREADS + thread % THREADS;
      value = value * peek(x, record * FIELDS) + peek(x, (record + THREADS) * FIELDS);
    }
    expected += value * (j + 1);
  }
  return finish(close_to(peek(y, thread), expected));
}

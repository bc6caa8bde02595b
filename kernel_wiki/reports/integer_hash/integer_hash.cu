// Xor-shift hashing: shifts and logic run on the ALU pipe, which has half the lanes of the FMA pipes, and become the limit.
#include "../evidence.cuh"

constexpr int THREADS = 256, STEPS = 1024, CHAINS = 4;

__device__ __host__ unsigned mix(unsigned v) {
  v ^= v << 13;
  v ^= v >> 17;
  v ^= v << 5;
  return v;
}

__global__ void integer_hash(const unsigned* __restrict__ x, unsigned* __restrict__ y) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  unsigned a[CHAINS], all = 0;
  for (int c = 0; c < CHAINS; ++c) a[c] = x[i & (PATTERN - 1)] + c;
  for (int step = 0; step < STEPS; ++step)
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) a[c] = mix(a[c]);
  for (int c = 0; c < CHAINS; ++c) all ^= a[c];
  y[i] = all;
}

int main() {
  int blocks = sm_count() * 8 * 4;
  auto* x = device_array<unsigned>(PATTERN, [](size_t i) { return unsigned(i) + 1; });
  auto* y = device_zeros<unsigned>(size_t(blocks) * THREADS);
  launch_twice([&] { integer_hash<<<blocks, THREADS>>>(x, y); });
  unsigned expected = 0;
  for (int c = 0; c < CHAINS; ++c) {
    unsigned v = 4321 + 1 + c;
    for (int step = 0; step < STEPS; ++step) v = mix(v);
    expected ^= v;
  }
  return finish(peek(y, 4321) == expected);
}

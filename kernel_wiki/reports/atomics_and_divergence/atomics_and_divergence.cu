// One element in eight runs a long loop and adds its result to one of two counters in global memory: a million atomics on two addresses,
// which the L2 takes one by one (about 0.7 ms), are the limit. The loops leave 28 of 32 lanes idle and fill about a quarter of the issue
// slots: second.
#include "../evidence.cuh"

constexpr int THREADS = 256, LONG = 64, SHORT = 4;

static __host__ __device__ unsigned mix(unsigned v) {
  v ^= v << 13;
  v ^= v >> 17;
  return v ^ v << 5;
}

static __host__ __device__ unsigned walk(unsigned value, int rounds) {
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
  for (int round = 0; round < rounds; ++round) value = mix(value) + unsigned(round);
  return value;
}

__global__ void atomics_and_divergence(const unsigned* __restrict__ x, unsigned* __restrict__ counters, unsigned* __restrict__ y) {
  const size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  const unsigned seed = x[i];
  const bool chosen = seed % 8 == 0;
  const unsigned value = walk(seed, chosen ? LONG : SHORT);
  if (chosen) atomicAdd(&counters[value & 1], value % 4 + 1);  // the address and the addend are data, so nothing can be aggregated
  y[i] = value;
}

int main() {
  const int blocks = sm_count() * 8 * 31;
  const size_t count = size_t(blocks) * THREADS;
  const auto seed = [](size_t i) { return unsigned(i) * 2654435761u >> 7; };
  auto* x = device_array<unsigned>(count, seed);
  auto* counters = device_zeros<unsigned>(2);
  auto* y = device_zeros<unsigned>(count);
  launch_twice([&] { atomics_and_divergence<<<blocks, THREADS>>>(x, counters, y); });
  unsigned expected[2] = {};
  for (size_t i = 0; i < PATTERN; ++i) {  // every pattern of the input adds the same, and the last one is cut short
    if (seed(i) % 8) continue;
    const unsigned value = walk(seed(i), LONG);
    expected[value & 1] += unsigned((count - i + PATTERN - 1) / PATTERN) * (value % 4 + 1);
  }
  return finish(peek(counters, 0) == 2 * expected[0] && peek(counters, 1) == 2 * expected[1]);  // two launches
}

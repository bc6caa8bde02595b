// Histogram whose values nearly all fall into one bin, with global atomics: the L2 serialises them on one address.
#include "../evidence.cuh"

constexpr size_t COUNT = size_t(1) << 24;
constexpr int BINS = 256, THREADS = 256;

__global__ void atomics_histogram(const int* __restrict__ x, unsigned* __restrict__ bins) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  atomicAdd(&bins[x[i]], 1u);  // the address is data, so the compiler cannot aggregate it
}

int main() {
  auto* x = device_array<int>(COUNT, [](size_t i) { return i % 64 == 0 ? int(i / 64 % BINS) : 7; });
  auto* bins = device_zeros<unsigned>(BINS);
  launch_twice([&] { atomics_histogram<<<COUNT / THREADS, THREADS>>>(x, bins); });
  unsigned total = 0;
  for (int i = 0; i < BINS; ++i) total += peek(bins, i);
  return finish(total == 2 * COUNT);
}

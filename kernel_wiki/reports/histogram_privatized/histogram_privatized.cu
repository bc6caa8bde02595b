// The cure of atomics_histogram: lanes with equal values elect one to add for all, into a copy of the bins in shared memory;
// each block adds its copy to the result once.
#include "../evidence.cuh"

constexpr size_t COUNT = size_t(1) << 24;
constexpr int BINS = 256, THREADS = 256;

__global__ void histogram_privatized(const int* __restrict__ x, unsigned* __restrict__ bins) {
  __shared__ unsigned mine[BINS];
  for (int j = threadIdx.x; j < BINS; j += THREADS) mine[j] = 0;
  __syncthreads();
  for (size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x; i < COUNT; i += size_t(gridDim.x) * THREADS) {
    int value = x[i];
    unsigned peers = __match_any_sync(0xffffffff, value);  // COUNT is a multiple of the grid's threads: all lanes are here
    if (int(threadIdx.x % 32) == __ffs(peers) - 1) atomicAdd(&mine[value], __popc(peers));
  }
  __syncthreads();
  for (int j = threadIdx.x; j < BINS; j += THREADS) atomicAdd(&bins[j], mine[j]);
}

int main() {
  auto* x = device_array<int>(COUNT, [](size_t i) { return i % 64 == 0 ? int(i / 64 % BINS) : 7; });
  auto* bins = device_zeros<unsigned>(BINS);
  launch_twice([&] { histogram_privatized<<<1024, THREADS>>>(x, bins); });
  unsigned total = 0;
  for (int i = 0; i < BINS; ++i) total += peek(bins, i);
  return finish(total == 2 * COUNT);
}

// Weighted histogram of 4 bins, private to each block in shared memory; five elements in eight fall into one bin, so about 20 lanes of each
// warp add to one word, one after the other. 138 MB of input would take 33 us; the atomics take several times that. The weights keep the
// hardware from counting lanes.
#include "../evidence.cuh"

constexpr int THREADS = 256, BINS = 4, VECTORS = 8;

__global__ __launch_bounds__(THREADS) void histogram_few_bins(const uint4* __restrict__ x, unsigned* __restrict__ total) {
  __shared__ unsigned count[BINS];
  if (threadIdx.x < BINS) count[threadIdx.x] = 0;
  __syncthreads();
  const size_t base = size_t(blockIdx.x) * THREADS * VECTORS + threadIdx.x;
#pragma unroll 2
  for (int i = 0; i < VECTORS; ++i) {
    const uint4 v = x[base + i * THREADS];  // the bin in the two low bits, the weight above
    atomicAdd(&count[v.x % BINS], v.x / BINS);
    atomicAdd(&count[v.y % BINS], v.y / BINS);
    atomicAdd(&count[v.z % BINS], v.z / BINS);
    atomicAdd(&count[v.w % BINS], v.w / BINS);
  }
  __syncthreads();
  if (threadIdx.x < BINS) atomicAdd(&total[threadIdx.x], count[threadIdx.x]);
}

static int element(size_t i) {
  const int eighth = int(unsigned(i) * 2654435761u >> 29);
  return std::max(0, eighth - 4) + BINS * int(i % 3);
}

int main() {
  const int blocks = sm_count() * 8 * 4;
  const size_t elements = size_t(blocks) * THREADS * VECTORS * 4;
  auto* x = device_array<int>(elements, element);
  auto* total = device_zeros<unsigned>(BINS);
  launch_twice([&] { histogram_few_bins<<<blocks, THREADS>>>(reinterpret_cast<uint4*>(x), total); });
  unsigned expected[BINS] = {};
  for (size_t i = 0; i < std::min(PATTERN, elements); ++i)  // what a pattern adds, as often as it occurs; the last one is cut short
    expected[element(i) % BINS] += unsigned((elements - i + PATTERN - 1) / PATTERN) * (element(i) / BINS);
  bool same = true;
  for (int b = 0; b < BINS; ++b) same &= peek(total, b) == 2 * expected[b];  // two launches
  return finish(same);
}

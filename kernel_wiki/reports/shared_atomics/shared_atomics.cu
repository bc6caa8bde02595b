// Sums by class: each byte adds itself to one of four counters of its block in shared memory. About eight lanes of a warp meet on each
// counter and are served one after another: per SM 15,888 atomic instructions of eight or more turns each, for 0.5 MB read from DRAM (about
// 26,000 cycles at the SM's share of 4.8 TB/s).
#include "../evidence.cuh"

constexpr size_t COUNT = size_t(1) << 22;  // uint4: 64 MiB
constexpr int CLASSES = 4, THREADS = 256;

static unsigned char byte_at(size_t i) { return (unsigned char)((i * 2654435761u) >> 15); }

// sums[c] += all bytes of x whose lowest two bits are c.
__global__ __launch_bounds__(THREADS, 8) void shared_atomics(const uint4* __restrict__ x, unsigned long long* __restrict__ sums) {
  __shared__ unsigned block_sums[CLASSES];
  if (threadIdx.x < CLASSES) block_sums[threadIdx.x] = 0;
  __syncthreads();
  for (size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x; i < COUNT; i += size_t(gridDim.x) * THREADS) {
    const uint4 quad = x[i];
    const unsigned words[4] = {quad.x, quad.y, quad.z, quad.w};
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      unsigned value = (words[j / 4] >> (j % 4 * 8)) & 255;
      atomicAdd(&block_sums[value % CLASSES], value);
    }
  }
  __syncthreads();
  if (threadIdx.x < CLASSES) atomicAdd(&sums[threadIdx.x], static_cast<unsigned long long>(block_sums[threadIdx.x]));
}

int main() {
  auto* x = device_array<uint4>(COUNT, [](size_t i) {
    unsigned words[4] = {};
    for (size_t j = 0; j < 16; ++j) words[j / 4] |= unsigned(byte_at(i * 16 + j)) << (j % 4 * 8);
    return make_uint4(words[0], words[1], words[2], words[3]);
  });
  auto* sums = device_zeros<unsigned long long>(CLASSES);
  launch_twice([&] { shared_atomics<<<sm_count() * 8, THREADS>>>(x, sums); });
  unsigned long long expected = 0;
  for (size_t i = 0; i < PATTERN * 16; ++i) expected += byte_at(i) % CLASSES == 3 ? byte_at(i) : 0;
  return finish(peek(sums, 3) == 2 * (COUNT / PATTERN) * expected);  // two launches
}

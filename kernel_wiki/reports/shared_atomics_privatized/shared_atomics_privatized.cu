// The cure of shared_atomics: 32 copies of the counters, one for each lane and each in its own bank, so that the lanes of a warp never
// meet: wavefronts per shared atomic instruction should fall from eight or more to one. The copies are added once a block.
#include "../evidence.cuh"

constexpr size_t COUNT = size_t(1) << 22;  // uint4: 64 MiB
constexpr int CLASSES = 4, THREADS = 256, COPIES = 32;

static unsigned char byte_at(size_t i) { return (unsigned char)((i * 2654435761u) >> 15); }

// sums[c] += all bytes of x whose lowest two bits are c.
__global__ __launch_bounds__(THREADS, 8) void shared_atomics_privatized(const uint4* __restrict__ x,
                                                                        unsigned long long* __restrict__ sums) {
  __shared__ unsigned block_sums[CLASSES][COPIES];
  if (threadIdx.x < CLASSES * COPIES) block_sums[threadIdx.x / COPIES][threadIdx.x % COPIES] = 0;
  __syncthreads();
  for (size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x; i < COUNT; i += size_t(gridDim.x) * THREADS) {
    const uint4 quad = x[i];
    const unsigned words[4] = {quad.x, quad.y, quad.z, quad.w};
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      unsigned value = (words[j / 4] >> (j % 4 * 8)) & 255;
      atomicAdd(&block_sums[value % CLASSES][threadIdx.x % COPIES], value);
    }
  }
  __syncthreads();
  if (threadIdx.x < CLASSES * COPIES) {  // a warp for each class
    unsigned total = __reduce_add_sync(0xffffffff, block_sums[threadIdx.x / COPIES][threadIdx.x % COPIES]);
    if (threadIdx.x % COPIES == 0) atomicAdd(&sums[threadIdx.x / COPIES], static_cast<unsigned long long>(total));
  }
}

int main() {
  auto* x = device_array<uint4>(COUNT, [](size_t i) {
    unsigned words[4] = {};
    for (size_t j = 0; j < 16; ++j) words[j / 4] |= unsigned(byte_at(i * 16 + j)) << (j % 4 * 8);
    return make_uint4(words[0], words[1], words[2], words[3]);
  });
  auto* sums = device_zeros<unsigned long long>(CLASSES);
  launch_twice([&] { shared_atomics_privatized<<<sm_count() * 8, THREADS>>>(x, sums); });
  unsigned long long expected = 0;
  for (size_t i = 0; i < PATTERN * 16; ++i) expected += byte_at(i) % CLASSES == 3 ? byte_at(i) : 0;
  return finish(peek(sums, 3) == 2 * (COUNT / PATTERN) * expected);  // two launches
}

// A loop whose length is data: 4 lanes of each warp run 48 rounds, 28 run 6, so that three of four lane slots are empty while the issue
// slots are busy. The length is read from a 32-byte record a lane (8 times the bytes used, about a third of DRAM's speed): second.
#include "../evidence.cuh"

constexpr int THREADS = 256, FIELDS = 8, SHORT = 6, LONG = 48;

static __host__ __device__ unsigned mix(unsigned v) {
  v ^= v << 13;
  v ^= v >> 17;
  return v ^ v << 5;
}

__global__ void divergent_and_strided(const int* __restrict__ records, unsigned* __restrict__ y) {
  const size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  const int rounds = records[i * FIELDS];
  unsigned value = unsigned(i) + 1;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) value = mix(value) + unsigned(round);
  y[i] = value;
}

int main() {
  const int blocks = sm_count() * 8 * 32;
  auto* records = device_array<int>(size_t(blocks) * THREADS * FIELDS, [](size_t i) { return i / FIELDS * 2654435761u % 8 == 0 ? LONG : SHORT; });
  auto* y = device_zeros<unsigned>(size_t(blocks) * THREADS);
  launch_twice([&] { divergent_and_strided<<<blocks, THREADS>>>(records, y); });
  bool same = true;
  for (size_t i = 4320; i < 4336; ++i) {
    unsigned value = unsigned(i) + 1;
    for (int round = 0; round < peek(records, i * FIELDS); ++round) value = mix(value) + unsigned(round);
    same &= peek(y, i) == value;
  }
  return finish(same);
}

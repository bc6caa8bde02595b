// Embedding bag: the sum of four rows of 512 bytes picked at random from a table of 256 MiB, a warp a bag, four independent 16-byte loads a
// lane. Every row is whole sectors and is used once: 268 MB in, 67 MB out at DRAM bandwidth, random as it is.
#include "../evidence.cuh"

constexpr int WIDTH = 128, THREADS = 256, BAG = 4;
constexpr unsigned ROWS = 1u << 19;

__global__ __launch_bounds__(THREADS) void good_gather_rows(const float4* __restrict__ table, const int4* __restrict__ index,
                                                            float4* __restrict__ y) {
  const size_t bag = size_t(blockIdx.x) * (THREADS / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int4 row = index[bag];
  const float4 a = table[size_t(row.x) * (WIDTH / 4) + lane], b = table[size_t(row.y) * (WIDTH / 4) + lane];
  const float4 c = table[size_t(row.z) * (WIDTH / 4) + lane], d = table[size_t(row.w) * (WIDTH / 4) + lane];
  y[bag * (WIDTH / 4) + lane] = make_float4(a.x + b.x + c.x + d.x, a.y + b.y + c.y + d.y, a.z + b.z + c.z + d.z, a.w + b.w + c.w + d.w);
}

int main() {
  auto* table = device_array<float>(size_t(ROWS) * WIDTH, [](size_t i) { return float(i % 8191) * 0.125f; });
  auto* index = device_array<int>(ROWS, [](size_t i) { return int((unsigned(i) * 2654435761u + 12345u) % ROWS); });  // odd: a permutation
  auto* y = device_zeros<float>(size_t(ROWS / BAG) * WIDTH);
  const int blocks = ROWS / BAG / (THREADS / 32);
  auto *rows = reinterpret_cast<float4*>(table), *bags = reinterpret_cast<float4*>(y);
  launch_twice([&] { good_gather_rows<<<blocks, THREADS>>>(rows, reinterpret_cast<int4*>(index), bags); });
  double expected = 0;
  for (int i = 0; i < BAG; ++i) expected += peek(table, size_t(peek(index, 777 * BAG + i)) * WIDTH + 37);
  return finish(close_to(peek(y, size_t(777) * WIDTH + 37), expected));
}

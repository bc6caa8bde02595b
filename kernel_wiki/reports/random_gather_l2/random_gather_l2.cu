// Whole rows of 512 bytes gathered at random from a table of 16 MiB, several in flight a warp: coalesced, and after the first touch all of
// it hits the L2, whose bandwidth is the limit. It looks like a random gather from memory, but DRAM is idle.
#include "../evidence.cuh"

constexpr int THREADS = 256, WIDTH = 128, PICKS = 64;
constexpr unsigned ROWS = 1u << 15;  // 16 MiB

static __host__ __device__ unsigned pick(unsigned warp, unsigned turn) {
  unsigned v = (warp * PICKS + turn + 1) * 2654435761u;
  v ^= v >> 15;
  return v * 2246822519u % ROWS;
}

__global__ __launch_bounds__(THREADS) void random_gather_l2(const float4* __restrict__ table, float4* __restrict__ y) {
  const unsigned warp = (blockIdx.x * THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
  float4 sum = make_float4(0.f, 0.f, 0.f, 0.f);
#pragma unroll 8
  for (unsigned turn = 0; turn < PICKS; ++turn) {
    const float4 v = __ldcg(&table[pick(warp, turn) * (WIDTH / 4) + lane]);
    sum = make_float4(sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w);
  }
  y[size_t(warp) * 32 + lane] = sum;
}

int main() {
  const int blocks = sm_count() * 32;
  auto* table = device_array<float>(size_t(ROWS) * WIDTH, [](size_t i) { return float(i / WIDTH % 1021) * 0.125f; });
  auto* y = device_zeros<float>(size_t(blocks) * (THREADS / 32) * WIDTH);
  launch_twice([&] { random_gather_l2<<<blocks, THREADS>>>(reinterpret_cast<float4*>(table), reinterpret_cast<float4*>(y)); });
  double expected = 0;
  for (unsigned turn = 0; turn < PICKS; ++turn) expected += peek(table, size_t(pick(777, turn)) * WIDTH + 37);
  return finish(close_to(peek(y, size_t(777) * WIDTH + 37), expected));
}

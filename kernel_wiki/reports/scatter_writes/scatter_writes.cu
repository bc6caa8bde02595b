// Reads in order, writes to a permutation: every store request touches 32 sectors and fills 4 bytes of each, over 64 MiB, more than the L2
// holds. The loads are perfect, so averages over loads and stores hide it.
#include "../evidence.cuh"

constexpr int THREADS = 256, VECTORS = 4;
constexpr unsigned COUNT = 1u << 24, FACTOR = 2654435761u;  // odd: a permutation of the indices

__global__ __launch_bounds__(THREADS) void scatter_writes(const float* __restrict__ x, float* __restrict__ y) {
  const unsigned base = blockIdx.x * THREADS * VECTORS + threadIdx.x;
  float held[VECTORS];
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) held[i] = x[base + i * THREADS];
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) y[(base + i * THREADS) * FACTOR % COUNT] = held[i];
}

int main() {
  auto* x = device_array<float>(COUNT, [](size_t i) { return float(i % 8191) + 1.f; });
  auto* y = device_zeros<float>(COUNT);
  launch_twice([&] { scatter_writes<<<COUNT / (THREADS * VECTORS), THREADS>>>(x, y); });
  bool same = true;
  for (unsigned i = 4321; i < 4400; ++i) same &= peek(y, i * FACTOR % COUNT) == peek(x, i);
  return finish(same);
}

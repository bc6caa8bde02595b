// The cure of integer_hash: the quotient is one multiply-high by a constant that the host prepares, its remainder may stay below twice
// the prime, and three steps fit 32 bits before one is due: 5 integer multiply-adds for three steps, none of them on the ALU pipe.
#include "../evidence.cuh"

constexpr int THREADS = 256, STEPS = 768, CHAINS = 4, LAZY = 3;
constexpr unsigned BASE = 31, SYMBOLS = 1 << 16;  // 2 * 65521 * 31^3 + 65535 * (31^2 + 31 + 1) < 2^32

__global__ void hash_multiply_high(const unsigned* __restrict__ x, unsigned* __restrict__ y, unsigned prime, unsigned reciprocal) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  unsigned symbol[CHAINS], hash[CHAINS] = {}, all = 0;
  for (int c = 0; c < CHAINS; ++c) symbol[c] = (x[i & (PATTERN - 1)] + c) & (SYMBOLS - 1);
#pragma unroll 2
  for (int step = 0; step < STEPS; step += LAZY)
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) {
      unsigned grown = hash[c];
#pragma unroll
      for (int lazy = 0; lazy < LAZY; ++lazy) grown = grown * BASE + symbol[c];
      hash[c] = grown - __umulhi(grown, reciprocal) * prime;  // the quotient is exact or one too small
    }
  for (int c = 0; c < CHAINS; ++c) all = all * 3 + (hash[c] < prime ? hash[c] : hash[c] - prime);
  y[i] = all;
}

int main() {
  int blocks = sm_count() * 8 * 4;
  const unsigned prime = 65521, reciprocal = unsigned((1ull << 32) / prime);
  auto* x = device_array<unsigned>(PATTERN, [](size_t i) { return unsigned(i) + 1; });
  auto* y = device_zeros<unsigned>(size_t(blocks) * THREADS);
  launch_twice([&] { hash_multiply_high<<<blocks, THREADS>>>(x, y, prime, reciprocal); });
  unsigned expected = 0;
  for (unsigned c = 0; c < CHAINS; ++c) {
    unsigned hash = 0;
    for (int step = 0; step < STEPS; ++step) hash = (hash * BASE + 4321 + 1 + c) % prime;
    expected = expected * 3 + hash;
  }
  return finish(peek(y, 4321) == expected);
}

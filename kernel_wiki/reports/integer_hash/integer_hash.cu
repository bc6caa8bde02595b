// Rolling hash modulo a prime that is known at run time only: each remainder is an estimate of the quotient and two corrections by
// compare and subtract. Compares, subtracts and selects run on the ALU pipe, which has half the lanes of the FMA pipes: five of about
// eight instructions a step, ten ALU cycles a warp beside six to eight of integer multiply-adds.
#include "../evidence.cuh"

constexpr int THREADS = 256, STEPS = 768, CHAINS = 4;
constexpr unsigned BASE = 31, SYMBOLS = 1 << 16;

__global__ void integer_hash(const unsigned* __restrict__ x, unsigned* __restrict__ y, unsigned prime) {
  size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  unsigned symbol[CHAINS], hash[CHAINS] = {}, all = 0;
  for (int c = 0; c < CHAINS; ++c) symbol[c] = (x[i & (PATTERN - 1)] + c) & (SYMBOLS - 1);
#pragma unroll 3
  for (int step = 0; step < STEPS; ++step)
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) hash[c] = (hash[c] * BASE + symbol[c]) % prime;
  for (int c = 0; c < CHAINS; ++c) all = all * 3 + hash[c];
  y[i] = all;
}

int main() {
  int blocks = sm_count() * 8 * 4;
  const unsigned prime = 65521;
  auto* x = device_array<unsigned>(PATTERN, [](size_t i) { return unsigned(i) + 1; });
  auto* y = device_zeros<unsigned>(size_t(blocks) * THREADS);
  launch_twice([&] { integer_hash<<<blocks, THREADS>>>(x, y, prime); });
  unsigned expected = 0;
  for (unsigned c = 0; c < CHAINS; ++c) {
    unsigned hash = 0;
    for (int step = 0; step < STEPS; ++step) hash = (hash * BASE + 4321 + 1 + c) % prime;
    expected = expected * 3 + hash;
  }
  return finish(peek(y, 4321) == expected);
}

// Byte-mixing recurrence: each of eight states becomes the dot product of its own four bytes with a key, plus its neighbour. Successive
// values depend on each other, so no matrix unit can take it; dp4a runs on half of the FMA pipe (the heavy one), 64 lanes a cycle and SM,
// and fills it.
#include "../evidence.cuh"

constexpr int THREADS = 256, STATES = 8, STEPS = 512;

__global__ __launch_bounds__(THREADS) void good_int_dp4a(const int* __restrict__ x, int* __restrict__ y, int key) {
  const size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x;
  int state[STATES], all = 0;
#pragma unroll
  for (int c = 0; c < STATES; ++c) state[c] = x[i & (PATTERN - 1)] + c * 0x01234567;
#pragma unroll 4
  for (int step = 0; step < STEPS; ++step)
#pragma unroll
    for (int c = 0; c < STATES; ++c) state[c] = __dp4a(state[c], key, state[(c + 1) % STATES]);
#pragma unroll
  for (int c = 0; c < STATES; ++c) all ^= state[c];
  y[i] = all;
}

static int dot4(int a, int b, int sum) {
  for (int shift = 0; shift < 32; shift += 8) {
    const int left = static_cast<signed char>(a >> shift), right = static_cast<signed char>(b >> shift);
    sum = int(unsigned(sum) + unsigned(left * right));
  }
  return sum;
}

int main() {
  const int blocks = sm_count() * 8 * 8, key = 0x5bd1e995;
  const size_t at = 4321;
  auto* x = device_array<int>(PATTERN, [](size_t i) { return int(unsigned(i) * 2654435761u); });
  auto* y = device_zeros<int>(size_t(blocks) * THREADS);
  launch_twice([&] { good_int_dp4a<<<blocks, THREADS>>>(x, y, key); });
  int state[STATES], expected = 0;
  for (int c = 0; c < STATES; ++c) state[c] = int(unsigned(peek(x, at)) + c * 0x01234567u);
  for (int step = 0; step < STEPS; ++step)
    for (int c = 0; c < STATES; ++c) state[c] = dot4(state[c], key, state[(c + 1) % STATES]);
  for (int c = 0; c < STATES; ++c) expected ^= state[c];
  return finish(peek(y, at) == expected);
}

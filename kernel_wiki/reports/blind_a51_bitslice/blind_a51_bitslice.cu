// A5/1 key stream of GSM bursts, bit-sliced: 32 ciphers a thread, the 64 state bits in 64 registers, no table and no shift. Nothing is wrong: a clock is
// ~76 three-input logic operations and, past the 100 of mixing, one store of a word. 32 warps an SM x 328 x 76 / 2 a cycle = 400k cycles
// (~215 us) of the integer pipe at half the issue slots; 123 MB written and 35 MB read would take 35 us.
#include "../evidence.cuh"

constexpr int THREADS = 256, BLOCKS = 132 * 4, MIXING = 100, BITS = 228, STATE = 64;
constexpr size_t COUNT = size_t(THREADS) * BLOCKS;

template <int LENGTH>
__host__ __device__ inline void shift(unsigned (&r)[LENGTH], unsigned clocked, unsigned feedback) {
  for (int i = LENGTH - 1; i > 0; --i) r[i] = (clocked & r[i - 1]) | (~clocked & r[i]);
  r[0] = (clocked & feedback) | (~clocked & r[0]);
}

struct Cipher {
  unsigned a[19], b[22], c[23];

  __host__ __device__ inline unsigned clock() {
    unsigned majority = (a[8] & b[10]) | (a[8] & c[10]) | (b[10] & c[10]);
    unsigned move_a = ~(a[8] ^ majority), move_b = ~(b[10] ^ majority), move_c = ~(c[10] ^ majority);
    shift(a, move_a, a[13] ^ a[16] ^ a[17] ^ a[18]);
    shift(b, move_b, b[20] ^ b[21]);
    shift(c, move_c, c[7] ^ c[20] ^ c[21] ^ c[22]);
    return a[18] ^ b[21] ^ c[22];
  }
};

__global__ __launch_bounds__(THREADS, 2) void blind_a51_bitslice(const unsigned* __restrict__ states, unsigned* __restrict__ stream) {
  size_t at = size_t(blockIdx.x) * THREADS + threadIdx.x;
  Cipher cipher;
#pragma unroll
  for (int i = 0; i < 19; ++i) cipher.a[i] = states[i * COUNT + at];
#pragma unroll
  for (int i = 0; i < 22; ++i) cipher.b[i] = states[(19 + i) * COUNT + at];
#pragma unroll
  for (int i = 0; i < 23; ++i) cipher.c[i] = states[(41 + i) * COUNT + at];
#pragma unroll 2
  for (int i = 0; i < MIXING; ++i) cipher.clock();
#pragma unroll 2
  for (int i = 0; i < BITS; ++i) stream[i * COUNT + at] = cipher.clock();
}

static unsigned state_at(size_t i) {
  unsigned hash = unsigned(i + 1) * 2654435761u;
  hash ^= hash >> 15;
  hash *= 2246822519u;
  return hash ^ hash >> 13;
}

int main() {
  auto* states = device_array<unsigned>(STATE * COUNT, state_at);
  auto* stream = device_zeros<unsigned>(BITS * COUNT);
  launch_twice([&] { blind_a51_bitslice<<<BLOCKS, THREADS>>>(states, stream); });
  bool ok = true;
  for (size_t at : {size_t(3), size_t(77777), COUNT - 1}) {
    Cipher cipher;
    for (int i = 0; i < 19; ++i) cipher.a[i] = state_at((i * COUNT + at) % PATTERN);
    for (int i = 0; i < 22; ++i) cipher.b[i] = state_at(((19 + i) * COUNT + at) % PATTERN);
    for (int i = 0; i < 23; ++i) cipher.c[i] = state_at(((41 + i) * COUNT + at) % PATTERN);
    for (int i = 0; i < MIXING; ++i) cipher.clock();
    for (int i = 0; i < BITS; ++i) {
      unsigned expected = cipher.clock();
      if (i % 57 == 0 || i == BITS - 1) ok = ok && peek(stream, i * COUNT + at) == expected;
    }
  }
  return finish(ok);
}

// Monte Carlo area of a quarter circle with random words from ChaCha20, its state in registers. Nothing is wrong: 640 rotations and exclusive ors a
// block of 16 words have no shorter form (the 320 adds go to the FMA pipe) and the test adds some 50: 4.3 M blocks = 3 G instructions, 180 us
// on an ALU of 64 lanes an SM. A count a thread is all that is written.
#include "../evidence.cuh"

constexpr int THREADS = 256, GRID = 8448, PER_THREAD = 2, WORDS = 16, DOUBLE_ROUNDS = 10;

struct Key {
  unsigned word[8];
};

__host__ __device__ inline unsigned rotated(unsigned x, int bits) { return x << bits | x >> (32 - bits); }

__host__ __device__ inline void quarter_round(unsigned& a, unsigned& b, unsigned& c, unsigned& d) {
  a += b;
  d = rotated(d ^ a, 16);
  c += d;
  b = rotated(b ^ c, 12);
  a += b;
  d = rotated(d ^ a, 8);
  c += d;
  b = rotated(b ^ c, 7);
}

__host__ __device__ inline void chacha_block(const Key& key, unsigned counter, unsigned (&out)[WORDS]) {
  unsigned start[WORDS] = {0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u, key.word[0], key.word[1], key.word[2], key.word[3],
                           key.word[4], key.word[5], key.word[6], key.word[7], counter,     7u,          11u,         13u};
  for (int w = 0; w < WORDS; ++w) out[w] = start[w];
  for (int round = 0; round < DOUBLE_ROUNDS; ++round) {
    quarter_round(out[0], out[4], out[8], out[12]);
    quarter_round(out[1], out[5], out[9], out[13]);
    quarter_round(out[2], out[6], out[10], out[14]);
    quarter_round(out[3], out[7], out[11], out[15]);
    quarter_round(out[0], out[5], out[10], out[15]);
    quarter_round(out[1], out[6], out[11], out[12]);
    quarter_round(out[2], out[7], out[8], out[13]);
    quarter_round(out[3], out[4], out[9], out[14]);
  }
  for (int w = 0; w < WORDS; ++w) out[w] += start[w];
}

// How many of the block's 16 points, of two 15-bit coordinates each, lie in the quarter circle.
__host__ __device__ inline int points_inside(const Key& key, unsigned counter) {
  unsigned out[WORDS];
  chacha_block(key, counter, out);
  int inside = 0;
  for (unsigned word : out) {
    unsigned x = word & 0x7fff, y = word >> 17;
    inside += x * x + y * y < 1u << 30;
  }
  return inside;
}

__global__ __launch_bounds__(THREADS) void held_chacha_area(const __grid_constant__ Key key, int* __restrict__ inside) {
  unsigned thread = blockIdx.x * THREADS + threadIdx.x;
  int count = 0;
  for (int n = 0; n < PER_THREAD; ++n) count += points_inside(key, n * (GRID * THREADS) + thread);
  inside[thread] = count;
}

int main() {
  Key key;
  for (int w = 0; w < 8; ++w) key.word[w] = 0x03020100u + 0x04040404u * w;
  auto* inside = device_zeros<int>(size_t(GRID) * THREADS);
  launch_twice([&] { held_chacha_area<<<GRID, THREADS>>>(key, inside); });
  bool ok = true;
  for (int i : {1, 777777, GRID * THREADS - 1}) {
    int expected = 0;
    for (int n = 0; n < PER_THREAD; ++n) expected += points_inside(key, n * (GRID * THREADS) + i);
    ok = ok && peek(inside, i) == expected && expected > 0;
  }
  return finish(ok);
}

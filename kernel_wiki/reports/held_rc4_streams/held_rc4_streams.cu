// RC4 over many streams, one a thread, each permutation kept as 256 words in the thread's own bank: 64 KiB a block of 64 threads, so 3
// blocks or 6 of 64 warps fit an SM (four bytes a word would fit four times as many). Every key byte is three dependent shared reads of
// about 30 cycles; with 1.5 warps a scheduler nothing covers them: some 25 instructions in 130 cycles a byte, DRAM and L2 near idle.
#include "../evidence.cuh"

constexpr int THREADS = 64, BLOCKS = 132 * 3 * 2, STREAMS = THREADS * BLOCKS, KEY_WORDS = 4, OUT_WORDS = 256;
constexpr int STATE_BYTES = 256 * THREADS * int(sizeof(unsigned));

// keys: [KEY_WORDS][STREAMS], out: [OUT_WORDS][STREAMS], so that neighbouring threads meet neighbouring words.
__global__ __launch_bounds__(THREADS) void held_rc4_streams(const unsigned* __restrict__ keys, unsigned* __restrict__ out) {
  extern __shared__ unsigned states[];
  unsigned* state = states + threadIdx.x;
  int stream = blockIdx.x * THREADS + threadIdx.x;
  unsigned key[KEY_WORDS];
#pragma unroll
  for (int w = 0; w < KEY_WORDS; ++w) key[w] = keys[w * STREAMS + stream];
  for (int i = 0; i < 256; ++i) state[i * THREADS] = i;
  unsigned j = 0;
  for (int base = 0; base < 256; base += 4 * KEY_WORDS)
#pragma unroll
    for (int k = 0; k < 4 * KEY_WORDS; ++k) {
      unsigned old = state[(base + k) * THREADS];
      j = (j + old + (key[k / 4] >> (8 * (k % 4)))) & 255;
      state[(base + k) * THREADS] = state[j * THREADS];
      state[j * THREADS] = old;
    }
  unsigned i = 0;
  j = 0;
  for (int w = 0; w < OUT_WORDS; ++w) {
    unsigned packed = 0;
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      i = (i + 1) & 255;
      unsigned first = state[i * THREADS];
      j = (j + first) & 255;
      unsigned second = state[j * THREADS];
      state[i * THREADS] = second;
      state[j * THREADS] = first;
      packed |= state[((first + second) & 255) * THREADS] << (8 * b);
    }
    out[w * STREAMS + stream] = packed;
  }
}

static unsigned host_word(const unsigned* keys, int stream, int wanted) {
  unsigned char state[256];
  for (int i = 0; i < 256; ++i) state[i] = (unsigned char)i;
  unsigned i = 0, j = 0, packed = 0;
  for (int k = 0; k < 256; ++k) {
    int byte = k % (4 * KEY_WORDS);
    unsigned word = peek(keys, size_t(byte / 4) * STREAMS + stream);
    j = (j + state[k] + (word >> (8 * (byte % 4)))) & 255;
    std::swap(state[k], state[j]);
  }
  j = 0;
  for (int n = 0; n < 4 * (wanted + 1); ++n) {
    i = (i + 1) & 255;
    j = (j + state[i]) & 255;
    std::swap(state[i], state[j]);
    packed = packed >> 8 | unsigned(state[(state[i] + state[j]) & 255]) << 24;
  }
  return packed;
}

int main() {
  auto* keys = device_array<unsigned>(size_t(KEY_WORDS) * STREAMS, [](size_t i) { return unsigned(i) * 2654435761u + 12345u; });
  auto* out = device_zeros<unsigned>(size_t(OUT_WORDS) * STREAMS);
  CUDA_CHECK(cudaFuncSetAttribute(held_rc4_streams, cudaFuncAttributeMaxDynamicSharedMemorySize, STATE_BYTES));
  launch_twice([&] { held_rc4_streams<<<BLOCKS, THREADS, STATE_BYTES>>>(keys, out); });
  bool ok = peek(out, 7) == host_word(keys, 7, 0) && peek(out, size_t(255) * STREAMS + 40961) == host_word(keys, 40961, 255);
  return finish(ok);
}

// Reed-Solomon parity, 16 bytes to 128, one codeword a thread. The logarithm tables of GF(256) lie in constant memory, where each lane asks for
// another entry: 16 look-ups a byte, each served once for every one of ~25 distinct words. 16 warps an SM x 128 bytes x 16 x ~25 cycles = 0.8M
// cycles (0.45 ms) in the constant cache, against ~45 instructions a byte (23k cycles of issue) and 10 MB of memory traffic (3 us).
#include "../evidence.cuh"

constexpr int DATA = 128, PARITY = 16, THREADS = 128, WORDS = 132 * 4 * THREADS;

struct Tables {
  unsigned char exp[512], log[256], generator[PARITY];  // the last: logarithms of the generator's coefficients, highest power first
};

__host__ __device__ constexpr Tables make_tables() {
  Tables t{};
  unsigned x = 1;
  for (int i = 0; i < 255; ++i) {
    t.exp[i] = t.exp[i + 255] = static_cast<unsigned char>(x);
    t.log[x] = static_cast<unsigned char>(i);
    x <<= 1;
    if (x & 256) x ^= 0x11d;
  }
  unsigned poly[PARITY + 1] = {1};
  for (int root = 0; root < PARITY; ++root)
    for (int i = root + 1; i >= 1; --i) {
      unsigned scaled = poly[i - 1] ? t.exp[t.log[poly[i - 1]] + root] : 0;
      poly[i] ^= scaled;
    }
  for (int i = 0; i < PARITY; ++i) t.generator[i] = t.log[poly[i + 1]];
  return t;
}

static __constant__ Tables field = make_tables();

// `data` holds four bytes of a codeword a word, position-major; so does `parity`.
__global__ __launch_bounds__(THREADS) void blind_reed_solomon(const unsigned* __restrict__ data, unsigned* __restrict__ parity) {
  constexpr Tables known = make_tables();
  int word = blockIdx.x * THREADS + threadIdx.x;
  unsigned rest[PARITY + 1] = {};
  for (int at = 0; at < DATA / 4; ++at) {
    unsigned four = data[size_t(at) * WORDS + word];
#pragma unroll 1
    for (int byte = 0; byte < 4; ++byte, four >>= 8) {
      unsigned feedback = (four & 255) ^ rest[0];
      unsigned logarithm = field.log[feedback], mask = feedback ? 255 : 0;
#pragma unroll
      for (int i = 0; i < PARITY; ++i) rest[i] = rest[i + 1] ^ (field.exp[logarithm + known.generator[i]] & mask);
    }
  }
#pragma unroll
  for (int i = 0; i < PARITY; i += 4)
    parity[size_t(i / 4) * WORDS + word] = rest[i] | rest[i + 1] << 8 | rest[i + 2] << 16 | rest[i + 3] << 24;
}

static unsigned value(size_t i) { return (unsigned(i) + 12345u) * 2654435761u ^ unsigned(i) << 7; }

int main() {
  constexpr Tables t = make_tables();
  auto* data = device_array<unsigned>(size_t(DATA / 4) * WORDS, value);
  auto* parity = device_zeros<unsigned>(size_t(PARITY / 4) * WORDS);
  launch_twice([&] { blind_reed_solomon<<<WORDS / THREADS, THREADS>>>(data, parity); });
  bool ok = true;
  for (int word : {5, 33333, WORDS - 1}) {
    unsigned rest[PARITY + 1] = {};
    for (int at = 0; at < DATA; ++at) {
      unsigned feedback = (value((size_t(at / 4) * WORDS + word) % PATTERN) >> 8 * (at % 4) & 255) ^ rest[0];
      for (int i = 0; i < PARITY; ++i) rest[i] = rest[i + 1] ^ (feedback ? t.exp[t.log[feedback] + t.generator[i]] : 0);
    }
    for (int i = 0; i < PARITY; ++i) ok = ok && (peek(parity, size_t(i / 4) * WORDS + word) >> 8 * (i % 4) & 255) == rest[i];
  }
  return finish(ok);
}

// LZ77 decompression, one chunk a warp: read a token, copy its literals, copy its match from what was written before. Each step's addresses come
// from the step before and nothing is fetched ahead: per token ~200 cycles for the token, ~700 for literals from DRAM, ~300 for the match from L2.
// 256 tokens x 1200 = 310k cycles, ~170 us, with 16 warps an SM mostly waiting; 60 MB of traffic in that time are 0.4 TB/s, issue slots ~5 % busy.
#include "../evidence.cuh"

constexpr int WARPS = 132 * 16, THREADS = 256, TOKENS = 256, LITERALS = 32, MATCH = 64;  // the last two: at most, a token
constexpr int LITERAL_BYTES = TOKENS * LITERALS, OUT_BYTES = TOKENS * (LITERALS + MATCH);

struct Token {
  unsigned short literals, match;
  unsigned distance;
};

__global__ __launch_bounds__(THREADS) void blind_lz_warp(const Token* __restrict__ tokens, const unsigned char* __restrict__ literals, unsigned char* out) {
  int chunk = blockIdx.x * (THREADS / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  const Token* token = tokens + size_t(chunk) * TOKENS;
  const unsigned char* literal = literals + size_t(chunk) * LITERAL_BYTES;
  unsigned char* to = out + size_t(chunk) * OUT_BYTES;
#pragma unroll 1
  for (int i = 0; i < TOKENS; ++i) {
    Token now = token[i];
    if (lane < now.literals) to[lane] = literal[lane];
    literal += now.literals;
    to += now.literals;
    __syncwarp();
    for (unsigned n = lane; n < now.match; n += 32) to[n] = *(to - now.distance + (n < now.distance ? n : n % now.distance));
    to += now.match;
    __syncwarp();
  }
}

static unsigned mix(unsigned x) {
  x *= 2654435761u;
  x ^= x >> 15;
  x *= 2246822519u;
  return x ^ x >> 13;
}

static unsigned char literal_at(size_t i) { return static_cast<unsigned char>(mix(unsigned(i) + 99)); }

int main() {
  std::vector<Token> host(size_t(WARPS) * TOKENS);
  for (int chunk = 0; chunk < WARPS; ++chunk)
    for (unsigned i = 0, written = 0; i < TOKENS; ++i) {
      Token& token = host[size_t(chunk) * TOKENS + i];
      unsigned hash = mix(unsigned(chunk * TOKENS + i));
      token.literals = static_cast<unsigned short>(16 + hash % 17);
      token.match = static_cast<unsigned short>(24 + (hash >> 8) % 41);
      written += token.literals;
      token.distance = 1 + (hash >> 16) % std::min(written, 8192u);
      written += token.match;
    }
  auto* tokens = device_array<Token>(host.size(), [&](size_t i) { return host[i]; });
  auto* literals = device_array<unsigned char>(size_t(WARPS) * LITERAL_BYTES, literal_at);
  auto* out = device_zeros<unsigned char>(size_t(WARPS) * OUT_BYTES);
  launch_twice([&] { blind_lz_warp<<<WARPS / (THREADS / 32), THREADS>>>(tokens, literals, out); });
  bool ok = true;
  for (int chunk : {0, 1234, WARPS - 1}) {
    std::vector<unsigned char> expected, got(OUT_BYTES);
    size_t literal = size_t(chunk) * LITERAL_BYTES;
    for (int i = 0; i < TOKENS; ++i) {
      Token token = host[size_t(chunk) * TOKENS + i];
      for (int n = 0; n < token.literals; ++n) expected.push_back(literal_at(literal++ % PATTERN));
      for (int n = 0; n < token.match; ++n) expected.push_back(expected[expected.size() - token.distance]);
    }
    CUDA_CHECK(cudaMemcpy(got.data(), out + size_t(chunk) * OUT_BYTES, OUT_BYTES, cudaMemcpyDeviceToHost));
    ok = ok && std::equal(expected.begin(), expected.end(), got.begin());
  }
  return finish(ok);
}

// The cure of lg_narrow: a code is one 16-byte load and four dot products of four bytes, and four queries a thread use it. Load
// instructions fall 64-fold, and the pipe of the dot products (16 half-rate instructions a load) should take the place of the queue.
#include "../evidence.cuh"

constexpr int BYTES = 16, CODES = 256, THREADS = 256, QUERIES = 4;

static unsigned char code_byte(size_t i) { return (unsigned char)((i * 2654435761u) >> 13); }
static unsigned char query_byte(size_t i) { return (unsigned char)((i * 2246822519u) >> 11); }

// best[q] = max over codes of the dot product of query q with the code, both of BYTES unsigned bytes.
__global__ __launch_bounds__(THREADS, 6) void lg_wide(const uint4* __restrict__ codes, const uint4* __restrict__ queries,
                                                      unsigned* __restrict__ best) {
  const size_t q = size_t(blockIdx.x) * QUERIES * THREADS + threadIdx.x;
  uint4 query[QUERIES];
  unsigned largest[QUERIES] = {};
#pragma unroll
  for (int j = 0; j < QUERIES; ++j) query[j] = queries[q + j * THREADS];
#pragma unroll 2
  for (int code = 0; code < CODES; ++code) {
    const uint4 c = codes[code];
#pragma unroll
    for (int j = 0; j < QUERIES; ++j) {
      unsigned dot = __dp4a(query[j].x, c.x, __dp4a(query[j].y, c.y, __dp4a(query[j].z, c.z, __dp4a(query[j].w, c.w, 0u))));
      largest[j] = max(largest[j], dot);
    }
  }
#pragma unroll
  for (int j = 0; j < QUERIES; ++j) best[q + j * THREADS] = largest[j];
}

int main() {
  const size_t count = size_t(sm_count()) * THREADS * 6 * 8;
  auto* codes = device_array<unsigned char>(CODES * BYTES, code_byte);
  auto* queries = device_array<unsigned char>(count * BYTES, query_byte);
  auto* best = device_zeros<unsigned>(count);
  launch_twice([&] {
    lg_wide<<<count / (THREADS * QUERIES), THREADS>>>(reinterpret_cast<const uint4*>(codes), reinterpret_cast<const uint4*>(queries), best);
  });
  unsigned expected = 0;
  for (int code = 0; code < CODES; ++code) {
    unsigned dot = 0;
    for (int i = 0; i < BYTES; ++i) dot += code_byte(code * BYTES + i) * query_byte(54321 * BYTES + i);
    expected = std::max(expected, dot);
  }
  return finish(peek(best, 54321) == expected);
}

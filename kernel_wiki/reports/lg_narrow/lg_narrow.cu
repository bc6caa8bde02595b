// Best match of 16-byte queries in a codebook of 4 KB that every thread reads byte by byte: 16 one-byte loads, all L1 hits, for 16
// multiply-adds. Four schedulers could issue 16 loads every 32 cycles, the load-store unit takes one a cycle and SM: the queue of global
// accesses is always full. Per SM 384 warps x 256 codes x 16 loads are 1.57 million cycles of that unit.
#include "../evidence.cuh"

constexpr int BYTES = 16, CODES = 256, THREADS = 256;

static unsigned char code_byte(size_t i) { return (unsigned char)((i * 2654435761u) >> 13); }
static unsigned char query_byte(size_t i) { return (unsigned char)((i * 2246822519u) >> 11); }

// best[q] = max over codes of the dot product of query q with the code, both of BYTES unsigned bytes.
__global__ __launch_bounds__(THREADS, 6) void lg_narrow(const unsigned char* __restrict__ codes, const unsigned char* __restrict__ queries,
                                                        unsigned* __restrict__ best) {
  const size_t q = size_t(blockIdx.x) * THREADS + threadIdx.x;
  unsigned query[BYTES], largest = 0;
  const uint4 packed = reinterpret_cast<const uint4*>(queries)[q];
#pragma unroll
  for (int i = 0; i < BYTES; ++i) query[i] = ((i < 4 ? packed.x : i < 8 ? packed.y : i < 12 ? packed.z : packed.w) >> (i % 4 * 8)) & 255;
#pragma unroll 2
  for (int code = 0; code < CODES; ++code) {
    unsigned dot = 0;
#pragma unroll
    for (int i = 0; i < BYTES; ++i) dot += query[i] * codes[code * BYTES + i];  // a char pointer promises no alignment: no wider load
    largest = max(largest, dot);
  }
  best[q] = largest;
}

int main() {
  const size_t count = size_t(sm_count()) * THREADS * 6 * 8;
  auto* codes = device_array<unsigned char>(CODES * BYTES, code_byte);
  auto* queries = device_array<unsigned char>(count * BYTES, query_byte);
  auto* best = device_zeros<unsigned>(count);
  launch_twice([&] { lg_narrow<<<count / THREADS, THREADS>>>(codes, queries, best); });
  unsigned expected = 0;
  for (int code = 0; code < CODES; ++code) {
    unsigned dot = 0;
    for (int i = 0; i < BYTES; ++i) dot += code_byte(code * BYTES + i) * query_byte(54321 * BYTES + i);
    expected = std::max(expected, dot);
  }
  return finish(peek(best, 54321) == expected);
}

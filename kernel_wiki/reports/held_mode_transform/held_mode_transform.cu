// The mode-dependent transform of a video codec: 35 intra modes, each its own 32x32 matrix unrolled into immediates, and the 32 vectors of a
// warp share a mode. A mode is 1,024 multiply-adds or 17 KiB of code, all of them 600 KiB, and every warp of an SM runs through another: the
// code comes from L2 again and again (17 KiB of it for 4 KiB of data a warp), and the schedulers wait for instructions.
#include "../evidence.cuh"

#include <cuda_fp16.h>

constexpr int SIZE = 32, MODES = 35, VECTORS = 1 << 20, THREADS = 256;

__host__ __device__ static constexpr float coefficient(int mode, int i, int j) {
  unsigned hash = (unsigned(mode) * 1024u + unsigned(i) * 32u + unsigned(j) + 1u) * 2654435761u;
  hash = (hash ^ hash >> 15) * 2246822519u;
  return float(int(hash >> 20) - 2048) / 8192.f;
}

// in and out: [SIZE / 2][VECTORS], two neighbouring coefficients a word.
template <int MODE>
__device__ static void transform(const __half2* __restrict__ in, __half2* __restrict__ out) {
  float sums[SIZE];
#pragma unroll
  for (int i = 0; i < SIZE; ++i) sums[i] = 0.f;
#pragma unroll
  for (int j = 0; j < SIZE; j += 2) {
    float2 pair = __half22float2(in[j / 2 * VECTORS]);
#pragma unroll
    for (int i = 0; i < SIZE; ++i) sums[i] = fmaf(coefficient(MODE, i, j + 1), pair.y, fmaf(coefficient(MODE, i, j), pair.x, sums[i]));
  }
#pragma unroll
  for (int i = 0; i < SIZE; i += 2) out[i / 2 * VECTORS] = __floats2half2_rn(sums[i], sums[i + 1]);
}

__global__ __launch_bounds__(THREADS) void held_mode_transform(const unsigned char* __restrict__ modes, const __half2* __restrict__ in,
                                                               __half2* __restrict__ out) {
  int vector = blockIdx.x * THREADS + threadIdx.x;
  in += vector;
  out += vector;
#define MODE_CASE(m) case m: transform<m>(in, out); break;
#define MODE_CASES(m) MODE_CASE(m) MODE_CASE(m + 1) MODE_CASE(m + 2) MODE_CASE(m + 3) MODE_CASE(m + 4)
  switch (modes[vector / 32]) {
    MODE_CASES(0)
    MODE_CASES(5)
    MODE_CASES(10)
    MODE_CASES(15)
    MODE_CASES(20)
    MODE_CASES(25)
    MODE_CASES(30)
  }
}

int main() {
  auto mode_at = [](size_t warp) { return (unsigned char)((unsigned(warp) * 2654435761u >> 8) % MODES); };
  auto pair_at = [](size_t i) { return __floats2half2_rn(float(i % 251) / 256.f - 0.5f, float(i % 241) / 256.f - 0.25f); };
  auto* modes = device_array<unsigned char>(VECTORS / 32, mode_at);
  auto* in = device_array<__half2>(size_t(SIZE / 2) * VECTORS, pair_at);
  auto* out = device_zeros<__half2>(size_t(SIZE / 2) * VECTORS);
  launch_twice([&] { held_mode_transform<<<VECTORS / THREADS, THREADS>>>(modes, in, out); });
  bool ok = true;
  for (int vector : {5, 123456, VECTORS - 1}) {
    int i = vector % SIZE, mode = mode_at(vector / 32);
    double sum = 0;
    for (int j = 0; j < SIZE; j += 2) {
      float2 pair = __half22float2(pair_at((size_t(j / 2) * VECTORS + vector) % PATTERN));
      sum += double(coefficient(mode, i, j)) * pair.x + double(coefficient(mode, i, j + 1)) * pair.y;
    }
    float2 got = __half22float2(peek(out, size_t(i / 2) * VECTORS + vector));
    ok = ok && close_to(i % 2 ? got.y : got.x, sum, 4e-3);
  }
  return finish(ok);
}

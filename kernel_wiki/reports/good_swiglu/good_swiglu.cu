// silu(gate) * up on bf16, gate and up side by side in rows of 2 x 4,096: 192 MB in, 96 MB out, each once, 16 bytes an access. The
// exponential and the reciprocal a value stay hidden behind DRAM.
#include <cuda_bf16.h>

#include "../evidence.cuh"

constexpr int COLUMNS = 4096, THREADS = 256, VECTORS = COLUMNS / 8 / THREADS;  // a block a row

union Packed {
  uint4 raw;
  __nv_bfloat162 pair[4];
};

static __device__ float silu(float x) { return __fdividef(x, 1.f + __expf(-x)); }

__global__ __launch_bounds__(THREADS) void good_swiglu(const uint4* __restrict__ x, uint4* __restrict__ y) {
  const uint4* row = x + size_t(blockIdx.x) * (2 * COLUMNS / 8) + threadIdx.x;
  Packed gate[VECTORS], up[VECTORS];
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) {
    gate[i].raw = row[i * THREADS];
    up[i].raw = row[COLUMNS / 8 + i * THREADS];
  }
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float2 g = __bfloat1622float2(gate[i].pair[j]), u = __bfloat1622float2(up[i].pair[j]);
      gate[i].pair[j] = __floats2bfloat162_rn(silu(g.x) * u.x, silu(g.y) * u.y);
    }
    y[size_t(blockIdx.x) * (COLUMNS / 8) + threadIdx.x + i * THREADS] = gate[i].raw;
  }
}

int main() {
  const int rows = sm_count() * 88;
  auto* x = device_array<__nv_bfloat16>(size_t(rows) * 2 * COLUMNS, [](size_t i) { return __float2bfloat16(float(i % 33) * 0.25f - 4.f); });
  auto* y = device_zeros<__nv_bfloat16>(size_t(rows) * COLUMNS);
  launch_twice([&] { good_swiglu<<<rows, THREADS>>>(reinterpret_cast<uint4*>(x), reinterpret_cast<uint4*>(y)); });
  const size_t row = 777, column = 123;
  const double g = __bfloat162float(peek(x, row * 2 * COLUMNS + column)), u = __bfloat162float(peek(x, (row * 2 + 1) * COLUMNS + column));
  return finish(close_to(__bfloat162float(peek(y, row * COLUMNS + column)), g / (1 + std::exp(-g)) * u, 1e-2));
}

// Softmax of bf16 rows of 8,192: a block a row, 32 values a thread packed in 16 registers, one barrier a row (each warp offers its maximum
// and its sum of exponentials together). 119 MB in, 119 MB out, each once. Exponentials are taken twice, which saves the registers that
// occupancy needs and still leaves the special-function unit near half.
#include <cuda_bf16.h>

#include "../evidence.cuh"

constexpr int COLUMNS = 8192, THREADS = 256, WARPS = THREADS / 32, VECTORS = COLUMNS / 8 / THREADS;

union Packed {
  uint4 raw;
  __nv_bfloat162 pair[4];
};

// Hides where the value came from: the floats are made from it again, not kept in registers beside it.
static __device__ void forget(Packed& p) { asm volatile("" : "+r"(p.raw.x), "+r"(p.raw.y), "+r"(p.raw.z), "+r"(p.raw.w)); }

__global__ __launch_bounds__(THREADS, 6) void good_softmax_bf16(const uint4* __restrict__ x, uint4* __restrict__ y) {
  __shared__ float2 part[WARPS];  // maximum and sum of a warp
  const size_t base = size_t(blockIdx.x) * (COLUMNS / 8) + threadIdx.x;
  Packed row[VECTORS];
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) row[i].raw = __ldcs(&x[base + i * THREADS]);
  __nv_bfloat162 both = row[0].pair[0];
#pragma unroll
  for (int i = 1; i < VECTORS * 4; ++i) both = __hmax2(both, row[i / 4].pair[i % 4]);
  float largest = fmaxf(__low2float(both), __high2float(both)), sum = 0.f;
  for (int step = 16; step; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, step));
#pragma unroll
  for (int i = 0; i < VECTORS * 4; ++i) {
    const float2 v = __bfloat1622float2(row[i / 4].pair[i % 4]);
    sum += __expf(v.x - largest) + __expf(v.y - largest);
  }
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = make_float2(largest, sum);
  __syncthreads();
  float top = part[0].x, total = 0.f;
#pragma unroll
  for (int w = 1; w < WARPS; ++w) top = fmaxf(top, part[w].x);
#pragma unroll
  for (int w = 0; w < WARPS; ++w) total += part[w].y * __expf(part[w].x - top);
  const float scale = 1.f / total;
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) {
    forget(row[i]);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float2 v = __bfloat1622float2(row[i].pair[j]);
      row[i].pair[j] = __floats2bfloat162_rn(__expf(v.x - top) * scale, __expf(v.y - top) * scale);
    }
    __stcs(&y[base + i * THREADS], row[i].raw);
  }
}

int main() {
  const int rows = sm_count() * 55;
  auto* x = device_array<__nv_bfloat16>(size_t(rows) * COLUMNS, [](size_t i) { return __float2bfloat16(float(i % 97) * 0.0625f); });
  auto* y = device_zeros<__nv_bfloat16>(size_t(rows) * COLUMNS);
  launch_twice([&] { good_softmax_bf16<<<rows, THREADS>>>(reinterpret_cast<uint4*>(x), reinterpret_cast<uint4*>(y)); });
  double sum = 0;
  for (int j = 0; j < COLUMNS; ++j) sum += __bfloat162float(peek(y, size_t(777) * COLUMNS + j));
  return finish(close_to(sum, 1.0, 1e-2));
}

// The cure of naive_rmsnorm: 16-byte loads, the row stays in registers between the sum and the scaling, the reduction is two levels of
// shuffles. 128 MiB read and written once each: DRAM is the limit, and the needless load instructions are gone.
#include <cuda_bf16.h>

#include "../evidence.cuh"

constexpr int ROWS = 16384, HIDDEN = 4096, THREADS = 128, WIDTH = 8;  // bf16 in 16 bytes
constexpr int VECTORS = HIDDEN / (THREADS * WIDTH);

static __device__ float2 unpacked(unsigned pair) { return __bfloat1622float2(*reinterpret_cast<__nv_bfloat162*>(&pair)); }

static __device__ float squares(unsigned pair) {
  float2 v = unpacked(pair);
  return v.x * v.x + v.y * v.y;
}

static __device__ unsigned normalized(unsigned pair, unsigned weight, float scale) {
  float2 v = unpacked(pair), w = unpacked(weight);
  __nv_bfloat162 packed = __floats2bfloat162_rn(v.x * scale * w.x, v.y * scale * w.y);
  return *reinterpret_cast<unsigned*>(&packed);
}

__global__ void __launch_bounds__(THREADS, 8) rmsnorm_onepass(const uint4* __restrict__ x, const uint4* __restrict__ weight,
                                                              uint4* __restrict__ y, float epsilon) {
  __shared__ float part[THREADS / 32];
  const size_t base = size_t(blockIdx.x) * (HIDDEN / WIDTH) + threadIdx.x;
  uint4 held[VECTORS];
  float sum = 0.f;
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) held[i] = x[base + i * THREADS];
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) sum += squares(held[i].x) + squares(held[i].y) + squares(held[i].z) + squares(held[i].w);
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0.f;
#pragma unroll
  for (int i = 0; i < THREADS / 32; ++i) sum += part[i];
  const float scale = rsqrtf(sum / HIDDEN + epsilon);
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) {
    const uint4 w = weight[i * THREADS + threadIdx.x], v = held[i];
    y[base + i * THREADS] =
        make_uint4(normalized(v.x, w.x, scale), normalized(v.y, w.y, scale), normalized(v.z, w.z, scale), normalized(v.w, w.w, scale));
  }
}

int main() {
  size_t count = size_t(ROWS) * HIDDEN;
  auto* x = device_array<__nv_bfloat16>(count, [](size_t i) { return __float2bfloat16(i % 2 ? 3.f : -3.f); });
  auto* weight = device_array<__nv_bfloat16>(HIDDEN, [](size_t i) { return __float2bfloat16(0.25f * (i % 4 + 1)); });
  auto* y = device_zeros<__nv_bfloat16>(count);
  launch_twice([&] {
    rmsnorm_onepass<<<ROWS, THREADS>>>(reinterpret_cast<uint4*>(x), reinterpret_cast<uint4*>(weight), reinterpret_cast<uint4*>(y), 1e-6f);
  });
  return finish(close_to(__bfloat162float(peek(y, size_t(777) * HIDDEN + 7)), 1.0, 1e-2));  // 3 / 3 * weight 1
}

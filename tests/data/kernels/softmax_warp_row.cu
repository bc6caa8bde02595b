#include <cuda_bf16.h>

// One warp a row of 1,024 values, kept in registers.
template <typename T>
__global__ void __launch_bounds__(128) row_softmax(const T* __restrict__ x, T* __restrict__ y, int rows) {
  constexpr int N = 1024;
  int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float4 held[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) held[i] = reinterpret_cast<const float4*>(x + (size_t)row * N)[i * 32 + lane];
  float top = -INFINITY, sum = 0.f;
#pragma unroll
  for (int i = 0; i < 8; ++i) top = fmaxf(top, fmaxf(fmaxf(held[i].x, held[i].y), fmaxf(held[i].z, held[i].w)));
  for (int d = 16; d; d >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
#pragma unroll
  for (int i = 0; i < 8; ++i) sum += __expf(held[i].x - top) + __expf(held[i].y - top) + __expf(held[i].z - top) + __expf(held[i].w - top);
  for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
  float inverse = 1.f / sum;
#pragma unroll
  for (int i = 0; i < 8; ++i)
    reinterpret_cast<float4*>(y + (size_t)row * N)[i * 32 + lane] = make_float4(
        __expf(held[i].x - top) * inverse, __expf(held[i].y - top) * inverse, __expf(held[i].z - top) * inverse, __expf(held[i].w - top) * inverse);
}

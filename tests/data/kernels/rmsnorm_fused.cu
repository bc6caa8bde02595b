#include <cuda_fp16.h>

__device__ float warp_sum(float v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  return v;
}

__global__ void fused_add_rms_norm(half2* __restrict__ x, const half2* __restrict__ residual, const half2* __restrict__ w, int pairs, float eps) {
  __shared__ float parts[32];
  __shared__ float scale;
  float squares = 0.f;
  for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
    half2 v = __hadd2(x[blockIdx.x * pairs + i], residual[blockIdx.x * pairs + i]);
    x[blockIdx.x * pairs + i] = v;
    float2 f = __half22float2(v);
    squares += f.x * f.x + f.y * f.y;
  }
  squares = warp_sum(squares);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = squares;
  __syncthreads();
  if (threadIdx.x < 32) {
    squares = warp_sum(threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0.f);
    if (threadIdx.x == 0) scale = rsqrtf(squares / (2 * pairs) + eps);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
    x[blockIdx.x * pairs + i] = __hmul2(__hmul2(x[blockIdx.x * pairs + i], w[i]), __float2half2_rn(scale));
  }
}

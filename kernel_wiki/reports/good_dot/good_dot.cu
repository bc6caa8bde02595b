// Dot product of two fp32 vectors of 208 MB: as many blocks as fit stride over them with 16-byte loads, sum in registers, then shuffles,
// one barrier and one atomic a block: 1,056 atomics on one address in the whole kernel. DRAM bandwidth alone.
#include "../evidence.cuh"

constexpr int THREADS = 256, WARPS = THREADS / 32, BATCH = 2;

static __device__ float warp_sum(float value) {
  for (int step = 16; step; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
  return value;
}

static __device__ float dot4(float4 a, float4 b) { return (a.x * b.x + a.y * b.y) + (a.z * b.z + a.w * b.w); }

__global__ __launch_bounds__(THREADS, 8) void good_dot(const float4* __restrict__ x, const float4* __restrict__ y, double* __restrict__ result,
                                                       int rounds) {
  __shared__ float part[WARPS];
  const size_t stride = size_t(gridDim.x) * THREADS;
  size_t at = size_t(blockIdx.x) * THREADS + threadIdx.x;
  float sum = 0.f;
#pragma unroll 1
  for (int round = 0; round < rounds; round += BATCH, at += BATCH * stride) {
    float4 a[BATCH], b[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; ++i) {
      a[i] = x[at + i * stride];
      b[i] = y[at + i * stride];
    }
#pragma unroll
    for (int i = 0; i < BATCH; ++i) sum += dot4(a[i], b[i]);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warp_sum(threadIdx.x < WARPS ? part[threadIdx.x] : 0.f);
    if (threadIdx.x == 0) atomicAdd(result, double(sum));
  }
}

int main() {
  const int blocks = sm_count() * 8, rounds = 48;
  const size_t count = size_t(blocks) * THREADS * rounds;  // of float4
  auto* x = device_array<float>(count * 4, [](size_t i) { return float(i % 4) * 0.5f; });
  auto* y = device_array<float>(count * 4, [](size_t i) { return float(i % 2) + 1.f; });
  auto* result = device_zeros<double>(1);
  launch_twice([&] { good_dot<<<blocks, THREADS>>>(reinterpret_cast<float4*>(x), reinterpret_cast<float4*>(y), result, rounds); });
  return finish(close_to(peek(result, 0), 2 * double(count) * (0.0 * 1 + 0.5 * 2 + 1.0 * 1 + 1.5 * 2)));  // two launches
}

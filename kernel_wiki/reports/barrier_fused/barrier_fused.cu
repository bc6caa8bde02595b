// The cure of barrier_heavy: a warp reduces a round by itself, 32 values a lane in registers and ten shuffles, and the warps meet at one
// barrier a block in place of twelve a round. Barrier stalls should fall from 56 % of the warp latency to a few; the 277 MB of x then set
// the pace: 58 us at 4.8 TB/s, where the 69 million exponentials take 18 us of the XU pipe. Blocks of 8 warps instead of 32 (four rounds
// a warp), so that another block loads while one computes.
#include "../evidence.cuh"

constexpr int LENGTH = 1024, ROUNDS = 32;  // values of a round, rounds of a block
constexpr int THREADS = 256, WARPS = THREADS / 32, VECTORS = LENGTH / (32 * 4);

static __device__ float warp_max(float value) {
  for (int step = 16; step; step /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, step));
  return value;
}

static __device__ float warp_sum(float value) {
  for (int step = 16; step; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
  return value;
}

// log(sum of exp) over LENGTH values from `in`, the same in every lane.
static __device__ float log_sum_exp(const float4* __restrict__ in) {
  float4 value[VECTORS];
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) value[i] = in[i * 32 + threadIdx.x % 32];
  float largest = value[0].x;
#pragma unroll
  for (int i = 0; i < VECTORS; ++i)
    largest = fmaxf(largest, fmaxf(fmaxf(value[i].x, value[i].y), fmaxf(value[i].z, value[i].w)));
  largest = warp_max(largest);
  float sum = 0.f;
#pragma unroll
  for (int i = 0; i < VECTORS; ++i)
    sum += (__expf(value[i].x - largest) + __expf(value[i].y - largest)) + (__expf(value[i].z - largest) + __expf(value[i].w - largest));
  return largest + __logf(warp_sum(sum));
}

__global__ __launch_bounds__(THREADS, 4) void barrier_fused(const float4* __restrict__ x, float* __restrict__ y) {
  __shared__ float part[WARPS];
  const int warp = threadIdx.x / 32;
  const float4* in = x + size_t(blockIdx.x) * ROUNDS * (LENGTH / 4);
  float total = 0.f;
#pragma unroll 1
  for (int round = warp; round < ROUNDS; round += WARPS) total += log_sum_exp(in + round * (LENGTH / 4));
  if (threadIdx.x % 32 == 0) part[warp] = total;
  __syncthreads();
  if (warp == 0) {
    total = warp_sum(threadIdx.x < WARPS ? part[threadIdx.x] : 0.f);
    if (threadIdx.x == 0) y[blockIdx.x] = total;
  }
}

int main() {
  int blocks = sm_count() * 16;
  auto* x = device_array<float>(size_t(blocks) * ROUNDS * LENGTH, [](size_t i) { return float(i % 2); });
  auto* y = device_zeros<float>(blocks);
  launch_twice([&] { barrier_fused<<<blocks, THREADS>>>(reinterpret_cast<const float4*>(x), y); });
  return finish(close_to(peek(y, 5), ROUNDS * std::log(LENGTH / 2 * (1. + std::exp(1.)))));
}

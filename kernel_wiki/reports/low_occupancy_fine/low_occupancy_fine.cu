// Sum of squares of 415 MB with 16 loads of 16 bytes in flight a thread, which takes about 100 registers: two blocks of 8 warps an SM, a
// quarter of what fits, hold 128 KB in flight, several times what DRAM's latency asks for. Low occupancy, and nothing lost by it.
#include "../evidence.cuh"

constexpr int THREADS = 256, WARPS = THREADS / 32, BATCH = 16, ROUNDS = 24;

static __device__ float warp_sum(float value) {
  for (int step = 16; step; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
  return value;
}

static __device__ void load(float4 (&held)[BATCH], const float4* from) {
#pragma unroll
  for (int i = 0; i < BATCH; ++i)
    asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"  // volatile keeps the loads together ahead of their use
                 : "=f"(held[i].x), "=f"(held[i].y), "=f"(held[i].z), "=f"(held[i].w)
                 : "l"(from + i * THREADS));
}

__global__ __launch_bounds__(THREADS, 2) void low_occupancy_fine(const float4* __restrict__ x, float* __restrict__ y) {
  __shared__ float part[WARPS];
  const float4* in = x + size_t(blockIdx.x) * THREADS * BATCH * ROUNDS + threadIdx.x;
  float4 held[BATCH];
  float sum[4] = {};
#pragma unroll 1
  for (int round = 0; round < ROUNDS; ++round) {
    load(held, in + round * THREADS * BATCH);
#pragma unroll
    for (int i = 0; i < BATCH; ++i) sum[i % 4] += held[i].x * held[i].x + held[i].y * held[i].y + held[i].z * held[i].z + held[i].w * held[i].w;
  }
  const float all = warp_sum(sum[0] + sum[1] + sum[2] + sum[3]);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = all;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.f;
    for (int w = 0; w < WARPS; ++w) total += part[w];
    y[blockIdx.x] = total;
  }
}

int main() {
  const int blocks = sm_count() * 2;
  const size_t each = size_t(THREADS) * BATCH * ROUNDS * 4;
  auto* x = device_array<float>(blocks * each, [](size_t i) { return float(i % 4) * 0.5f; });
  auto* y = device_zeros<float>(blocks);
  launch_twice([&] { low_occupancy_fine<<<blocks, THREADS>>>(reinterpret_cast<float4*>(x), y); });
  return finish(close_to(peek(y, 77), each * 0.875));
}

// The cure of l2_far_reads: the tile that a block's threads exchange lies in shared memory. Nothing but the input and the result passes
// the L2, and no sector crosses between its halves after that; shared memory with 128 bytes a cycle is the next limit.
#include "../evidence.cuh"

constexpr int THREADS = 256, PER = 4, TILE = THREADS * PER;  // float4: tiles of 16 KiB
constexpr int STEPS = 64, SHIFT = 5 * 32, BLOCKS_PER_SM = 6;  // whole warps further: accesses stay aligned

static __device__ float4 raised(float4 v) { return make_float4(v.x + 1, v.y + 1, v.z + 1, v.w + 1); }

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) l2_near_reads(const float4* __restrict__ x, float4* __restrict__ y) {
  __shared__ float4 tile[TILE];
  const size_t base = size_t(blockIdx.x) * TILE;
#pragma unroll
  for (int i = 0; i < PER; ++i) tile[i * THREADS + threadIdx.x] = x[base + i * THREADS + threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (int step = 0; step < STEPS; ++step) {  // each element moves SHIFT places down and is raised by one
    float4 held[PER];
#pragma unroll
    for (int i = 0; i < PER; ++i) held[i] = tile[(i * THREADS + threadIdx.x + SHIFT) % TILE];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < PER; ++i) tile[i * THREADS + threadIdx.x] = raised(held[i]);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < PER; ++i) y[base + i * THREADS + threadIdx.x] = tile[i * THREADS + threadIdx.x];
}

int main() {
  const int blocks = sm_count() * BLOCKS_PER_SM;
  const size_t count = size_t(blocks) * TILE;
  auto* x = device_array<float4>(count, [](size_t i) { return make_float4(i + 1.f, i + 2.f, i + 3.f, i + 4.f); });
  auto* y = device_zeros<float4>(count);
  launch_twice([&] { l2_near_reads<<<blocks, THREADS>>>(x, y); });
  const size_t base = size_t(77) * TILE, place = 777, source = (place + size_t(STEPS) * SHIFT) % TILE;
  return finish(peek(y, base + place).z == peek(x, base + source).z + STEPS);
}

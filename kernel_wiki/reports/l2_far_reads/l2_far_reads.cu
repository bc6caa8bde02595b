// Blocks exchange a tile of 16 KiB between their threads through scratch memory in global space, 64 times. The 12.4 MiB stay in the L2,
// but half of the lines have their home in the other half of it: their writes, and reads of what was just written, cross between the
// halves. Of 1.7 GB written and read up to half cross, on a path that bandwidth_copy loads with 2.1 TB/s: 0.3 to 0.4 ms, DRAM idle.
#include "../evidence.cuh"

constexpr int THREADS = 256, PER = 4, TILE = THREADS * PER;  // float4: tiles of 16 KiB
constexpr int STEPS = 64, SHIFT = 5 * 32, BLOCKS_PER_SM = 6;  // whole warps further: accesses stay aligned

static __device__ float4 raised(float4 v) { return make_float4(v.x + 1, v.y + 1, v.z + 1, v.w + 1); }

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) l2_far_reads(const float4* __restrict__ x, float4* scratch,
                                                                       float4* __restrict__ y) {
  float4* tile = scratch + size_t(blockIdx.x) * TILE;
  const size_t base = size_t(blockIdx.x) * TILE;
#pragma unroll
  for (int i = 0; i < PER; ++i) tile[i * THREADS + threadIdx.x] = x[base + i * THREADS + threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (int step = 0; step < STEPS; ++step) {  // each element moves SHIFT places down and is raised by one
    float4 held[PER];
#pragma unroll
    for (int i = 0; i < PER; ++i) held[i] = __ldcg(&tile[(i * THREADS + threadIdx.x + SHIFT) % TILE]);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < PER; ++i) tile[i * THREADS + threadIdx.x] = raised(held[i]);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < PER; ++i) y[base + i * THREADS + threadIdx.x] = __ldcg(&tile[i * THREADS + threadIdx.x]);
}

int main() {
  const int blocks = sm_count() * BLOCKS_PER_SM;
  const size_t count = size_t(blocks) * TILE;
  auto* x = device_array<float4>(count, [](size_t i) { return make_float4(i + 1.f, i + 2.f, i + 3.f, i + 4.f); });
  auto* scratch = device_zeros<float4>(count);
  auto* y = device_zeros<float4>(count);
  launch_twice([&] { l2_far_reads<<<blocks, THREADS>>>(x, scratch, y); });
  const size_t base = size_t(77) * TILE, place = 777, source = (place + size_t(STEPS) * SHIFT) % TILE;
  return finish(peek(y, base + place).z == peek(x, base + source).z + STEPS);
}

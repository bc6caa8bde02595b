// The cure of small_grid: the same loop over the same 64 MiB by eight blocks an SM in place of 16 blocks in all. The share of idle SMs
// should vanish and DRAM throughput take its place.
#include "../evidence.cuh"

constexpr size_t COUNT = size_t(1) << 22;  // float4: 64 MiB
constexpr int THREADS = 256;

__global__ void grid_split(const float4* __restrict__ x, float4* __restrict__ y) {
#pragma unroll 2
  for (size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x; i < COUNT; i += size_t(gridDim.x) * THREADS) {
    float4 v = x[i];
    y[i] = make_float4(v.x * 2.f, v.y * 2.f, v.z * 2.f, v.w * 2.f);
  }
}

int main() {
  auto* x = device_array<float4>(COUNT, [](size_t i) { return make_float4(i + 1.f, i + 2.f, i + 3.f, i + 4.f); });
  auto* y = device_zeros<float4>(COUNT);
  launch_twice([&] { grid_split<<<sm_count() * 8, THREADS>>>(x, y); });
  return finish(peek(y, COUNT - 5).y == 2.f * peek(x, COUNT - 5).y);
}

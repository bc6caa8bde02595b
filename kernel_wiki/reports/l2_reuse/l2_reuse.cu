// Every block reads the same 8 MiB, bypassing L1: the data stay in the L2, whose bandwidth is the limit while DRAM is idle.
#include "../evidence.cuh"

constexpr int COUNT = 8 * 1024 * 1024 / 16, THREADS = 256;  // float4

__global__ void l2_reuse(const float4* __restrict__ x, float* __restrict__ y) {
  float sum = 0.f;
#pragma unroll 8
  for (int i = 0; i < COUNT / (32 * THREADS); ++i) {
    float4 v = __ldcg(&x[((blockIdx.x + i) % (COUNT / THREADS)) * THREADS + threadIdx.x]);  // .cg: cached in L2 only
    sum += v.x + v.y + v.z + v.w;
  }
  y[blockIdx.x * THREADS + threadIdx.x] = sum;
}

int main() {
  int blocks = sm_count() * 8 * 8;
  auto* x = device_array<float4>(COUNT, [](size_t i) { return make_float4(1.f, 0.5f, 0.25f, 0.25f); });
  auto* y = device_zeros<float>(size_t(blocks) * THREADS);
  launch_twice([&] { l2_reuse<<<blocks, THREADS>>>(x, y); });
  return finish(close_to(peek(y, 4321), 2.0 * (COUNT / (32 * THREADS))));
}

// A vector add of 4,096 elements: the GPU works for about two microseconds, less than a launch costs.
#include "../evidence.cuh"

constexpr int COUNT = 4096, THREADS = 256;

__global__ void launch_overhead(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  c[i] = a[i] + b[i];
}

int main() {
  auto* a = device_array<float>(COUNT, [](size_t i) { return float(i); });
  auto* b = device_array<float>(COUNT, [](size_t i) { return float(i) * 2.f; });
  auto* c = device_zeros<float>(COUNT);
  launch_twice([&] { launch_overhead<<<COUNT / THREADS, THREADS>>>(a, b, c); });
  return finish(peek(c, 321) == 963.f);
}

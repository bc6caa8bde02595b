// A vector add of 4,096 elements, one launch for each of 4,096 such pairs: the GPU works for about two microseconds, less than a launch
// costs.
#include "../evidence.cuh"

constexpr int COUNT = 4096, PAIRS = 4096, THREADS = 256;

__global__ void launch_overhead(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  c[i] = a[i] + b[i];
}

int main() {
  constexpr size_t all = size_t(COUNT) * PAIRS;
  auto* a = device_array<float>(all, [](size_t i) { return float(i); });
  auto* b = device_array<float>(all, [](size_t i) { return float(i) * 2.f; });
  auto* c = device_zeros<float>(all);
  auto pair = [&](size_t at) { launch_overhead<<<COUNT / THREADS, THREADS>>>(a + at * COUNT, b + at * COUNT, c + at * COUNT); };
  auto every_pair = [&] {
    for (size_t at = 0; at < PAIRS; ++at) pair(at);
  };
  launch_twice([&] { pair(0); }, every_pair, PAIRS);
  return finish(peek(c, 321) == 963.f);
}

// The cure of launch_overhead: the additions of all 4,096 pairs of small vectors in one launch instead of one launch a pair. The kernel
// lasts long enough to hide its launch, and moving 192 MiB is its limit.
#include "../evidence.cuh"

constexpr int COUNT = 4096, PAIRS = 4096, THREADS = 256;

__global__ void launches_fused(const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ c) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  float4 u = a[i], v = b[i];
  c[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
}

int main() {
  constexpr size_t all = size_t(COUNT) * PAIRS;
  auto* a = device_array<float>(all, [](size_t i) { return float(i); });
  auto* b = device_array<float>(all, [](size_t i) { return float(i) * 2.f; });
  auto* c = device_zeros<float>(all);
  auto launch = [&] {
    auto as_quads = [](float* values) { return reinterpret_cast<float4*>(values); };
    launches_fused<<<all / 4 / THREADS, THREADS>>>(as_quads(a), as_quads(b), as_quads(c));
  };
  launch_twice(launch, launch, PAIRS);
  return finish(peek(c, 321) == 963.f && peek(c, PATTERN + 321) == 963.f);
}

// y += a * x in fp32, in place: 104 MB of x and of y read and y written back, each once, 16 bytes an access. DRAM bandwidth alone.
#include "../evidence.cuh"

constexpr int THREADS = 256, VECTORS = 2;

__global__ void good_axpy(const float4* __restrict__ x, float4* __restrict__ y, float a) {
  const size_t base = size_t(blockIdx.x) * THREADS * VECTORS + threadIdx.x;
  float4 from[VECTORS], to[VECTORS];
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) {
    from[i] = x[base + i * THREADS];
    to[i] = y[base + i * THREADS];
  }
#pragma unroll
  for (int i = 0; i < VECTORS; ++i)
    y[base + i * THREADS] = make_float4(to[i].x + a * from[i].x, to[i].y + a * from[i].y, to[i].z + a * from[i].z, to[i].w + a * from[i].w);
}

int main() {
  const int blocks = sm_count() * 8 * 12;
  const size_t count = size_t(blocks) * THREADS * VECTORS, at = count - 9;
  auto* x = device_array<float4>(count, [](size_t i) { return make_float4(i % 64, i % 32, i % 16, i % 8); });
  auto* y = device_array<float4>(count, [](size_t i) { return make_float4(1.f, 2.f, 3.f, i % 5); });
  const float4 before = peek(y, at);
  launch_twice([&] { good_axpy<<<blocks, THREADS>>>(x, y, 0.5f); });
  return finish(peek(y, at).x == before.x + 2 * 0.5f * peek(x, at).x);  // two launches
}

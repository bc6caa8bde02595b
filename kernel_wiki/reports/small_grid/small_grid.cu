// 16 blocks on a GPU of more than 100 SMs: most of the chip is idle whatever the blocks do.
#include "../evidence.cuh"

constexpr size_t COUNT = size_t(1) << 22;  // float4: 64 MiB
constexpr int BLOCKS = 16, THREADS = 256;

__global__ void small_grid(const float4* __restrict__ x, float4* __restrict__ y) {
  for (size_t i = size_t(blockIdx.x) * THREADS + threadIdx.x; i < COUNT; i += BLOCKS * THREADS) {
    float4 v = x[i];
    y[i] = make_float4(v.x * 2.f, v.y * 2.f, v.z * 2.f, v.w * 2.f);
  }
}

int main() {
  auto* x = device_array<float4>(COUNT, [](size_t i) { return make_float4(i + 1.f, i + 2.f, i + 3.f, i + 4.f); });
  auto* y = device_zeros<float4>(COUNT);
  launch_twice([&] { small_grid<<<BLOCKS, THREADS>>>(x, y); });
  return finish(peek(y, COUNT - 5).y == 2.f * peek(x, COUNT - 5).y);
}

// Device copy with 16-byte accesses: DRAM bandwidth is the limit, and nothing else is left to win.
#include "../evidence.cuh"

constexpr size_t COUNT = size_t(1) << 24;  // float4: 256 MiB read, 256 MiB written, five times the L2

__global__ void bandwidth_copy(const float4* __restrict__ source, float4* __restrict__ target) {
  size_t base = size_t(blockIdx.x) * blockDim.x * 4 + threadIdx.x;
  float4 held[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) held[i] = source[base + i * blockDim.x];  // four loads in flight a thread
#pragma unroll
  for (int i = 0; i < 4; ++i) target[base + i * blockDim.x] = held[i];
}

int main() {
  auto* source = device_array<float4>(COUNT, [](size_t i) { return make_float4(i + 1.f, i + 2.f, i + 3.f, i + 4.f); });
  auto* target = device_zeros<float4>(COUNT);
  launch_twice([&] { bandwidth_copy<<<COUNT / (256 * 4), 256>>>(source, target); });
  return finish(peek(target, COUNT - 7).z == peek(source, COUNT - 7).z);
}

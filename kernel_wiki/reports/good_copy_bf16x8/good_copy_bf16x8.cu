// Copy of bf16 values, eight (16 bytes) an access, four accesses in flight a thread, with streaming hints since no byte is used twice: 121
// MB in, 121 MB out, DRAM bandwidth alone.
#include <cuda_bf16.h>

#include "../evidence.cuh"

constexpr int THREADS = 256, VECTORS = 4, WIDTH = 8;

__global__ void good_copy_bf16x8(const uint4* __restrict__ source, uint4* __restrict__ target) {
  const size_t base = size_t(blockIdx.x) * THREADS * VECTORS + threadIdx.x;
  uint4 held[VECTORS];
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) held[i] = __ldcs(&source[base + i * THREADS]);
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) __stcs(&target[base + i * THREADS], held[i]);
}

int main() {
  const int blocks = sm_count() * 8 * 7;  // seven whole waves
  const size_t vectors = size_t(blocks) * THREADS * VECTORS;
  auto* source = device_array<__nv_bfloat16>(vectors * WIDTH, [](size_t i) { return __float2bfloat16(float(i % 251) + 1.f); });
  auto* target = device_zeros<__nv_bfloat16>(vectors * WIDTH);
  launch_twice([&] { good_copy_bf16x8<<<blocks, THREADS>>>(reinterpret_cast<uint4*>(source), reinterpret_cast<uint4*>(target)); });
  const size_t at = vectors * WIDTH - 5;
  return finish(__bfloat162float(peek(target, at)) == __bfloat162float(peek(source, at)));
}

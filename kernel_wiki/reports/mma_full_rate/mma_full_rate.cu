// A good kernel as far as mma.sync goes: bf16 m16n8k16 on operands that stay in registers, eight independent accumulators a warp and 16
// warps a block, two blocks an SM. Nothing but the tensor pipe is used. On Hopper its counter calls two thirds of the dense wgmma rate
// 100 % for mma.sync: 2,731 of 4,096 operations a cycle and SM.
#include <cuda_bf16.h>

#include <cstdint>

#include "../evidence.cuh"

constexpr int THREADS = 512, BLOCKS_PER_SM = 2, STEPS = 2048, ROWS = 32, COLUMNS = 32;  // the result of a warp: 2 x 4 tiles of 16 x 8

static __device__ void multiply_add(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// a holds 32 rows of 16, b 32 columns of 16, both with K contiguous; every warp multiplies them STEPS times.
__global__ __launch_bounds__(THREADS, BLOCKS_PER_SM) void mma_full_rate(const __nv_bfloat16* __restrict__ a,
                                                                        const __nv_bfloat16* __restrict__ b, float* __restrict__ c) {
  const int lane = threadIdx.x % 32, row = lane / 4, pair = lane % 4 * 2;
  uint32_t fa[2][4], fb[4][2];
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int r = 0; r < 4; ++r) fa[i][r] = *reinterpret_cast<const uint32_t*>(a + (i * 16 + row + r % 2 * 8) * 16 + pair + r / 2 * 8);
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int r = 0; r < 2; ++r) fb[j][r] = *reinterpret_cast<const uint32_t*>(b + (j * 8 + row) * 16 + pair + r * 8);
  float sums[2][4][4] = {};
#pragma unroll 4
  for (int step = 0; step < STEPS; ++step)
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) multiply_add(sums[i][j], fa[i], fb[j]);
  float* out = c + (size_t(blockIdx.x) * (THREADS / 32) + threadIdx.x / 32) * ROWS * COLUMNS;
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int r = 0; r < 4; r += 2)
        *reinterpret_cast<float2*>(out + (i * 16 + row + r * 4) * COLUMNS + j * 8 + pair) = make_float2(sums[i][j][r], sums[i][j][r + 1]);
}

static float a_value(size_t i) { return float(i % 5) - 1.f; }
static float b_value(size_t i) { return float(i % 7) * 0.5f - 1.f; }

int main() {
  const int blocks = sm_count() * BLOCKS_PER_SM;
  auto* a = device_array<__nv_bfloat16>(ROWS * 16, [](size_t i) { return __float2bfloat16(a_value(i)); });
  auto* b = device_array<__nv_bfloat16>(COLUMNS * 16, [](size_t i) { return __float2bfloat16(b_value(i)); });
  auto* c = device_zeros<float>(size_t(blocks) * (THREADS / 32) * ROWS * COLUMNS);
  launch_twice([&] { mma_full_rate<<<blocks, THREADS>>>(a, b, c); });
  double expected = 0;
  for (size_t k = 0; k < 16; ++k) expected += a_value(size_t(27) * 16 + k) * b_value(size_t(13) * 16 + k);
  return finish(close_to(peek(c, (size_t(100) * ROWS + 27) * COLUMNS + 13), expected * STEPS));
}
